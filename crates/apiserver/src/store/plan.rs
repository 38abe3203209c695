//! Decides a batch: which writes hold, and what each makes of its object. Pure; the disk and the readers come after.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

use super::index::{Change, Index};
use super::{Entry, Key, Revision, Written};

/// A write that a client asked for.
#[derive(Clone, Debug)]
pub struct Write {
    pub key: Key,
    pub precondition: Precondition,
    pub action: Action,
}

/// What must hold at the moment of the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// There is no such object.
    Absent,
    /// There is one, in whatever state.
    Present,
    /// It was not written since this revision.
    Unchanged(Revision),
}

#[derive(Clone, Debug)]
pub enum Action {
    Put(Value),
    Delete,
}

/// Why a write does not hold, with what stands in its way.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Rejection {
    #[error("{} exists already", .0.key)]
    Exists(Arc<Entry>),
    #[error("{0} does not exist")]
    Missing(Key),
    #[error("{} was changed at revision {}", .0.key, .0.revision)]
    Changed(Arc<Entry>),
}

/// Writes in their order, each decided on the state that the ones before it leave.
pub(super) struct Plan<'a> {
    index: &'a Index,
    revision: Revision,
    /// Objects that this batch touched; none for one that it deleted.
    touched: BTreeMap<Key, Option<Arc<Entry>>>,
    pub(super) changes: Vec<Change>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(index: &'a Index) -> Self {
        Self { index, revision: index.revision(), touched: BTreeMap::new(), changes: Vec::new() }
    }

    pub(super) fn add(&mut self, write: Write) -> Result<Written, Rejection> {
        let current = self.current(&write.key);
        check(&write, current.as_ref())?;
        self.revision = self.revision.next();
        let (written, change, left) = match (write.action, current) {
            (Action::Put(object), _) => {
                let written = Written::new(write.key, self.revision, object);
                let entry = Arc::clone(&written.entry);
                (written, Change::Put(Arc::clone(&entry)), Some(entry))
            }
            (Action::Delete, Some(last)) => {
                let written = last.at(self.revision);
                let entry = Arc::clone(&written.entry);
                (written, Change::Delete(entry), None)
            }
            (Action::Delete, None) => return Err(Rejection::Missing(write.key)),
        };
        self.touched.insert(written.entry.key.clone(), left);
        self.changes.push(change);
        Ok(written)
    }

    fn current(&self, key: &Key) -> Option<Arc<Entry>> {
        match self.touched.get(key) {
            Some(touched) => touched.clone(),
            None => self.index.get(key).cloned(),
        }
    }
}

fn check(write: &Write, current: Option<&Arc<Entry>>) -> Result<(), Rejection> {
    match (write.precondition, current) {
        (Precondition::Absent, Some(entry)) => Err(Rejection::Exists(Arc::clone(entry))),
        (Precondition::Present | Precondition::Unchanged(_), None) => {
            Err(Rejection::Missing(write.key.clone()))
        }
        (Precondition::Unchanged(revision), Some(entry)) if entry.revision != revision => {
            Err(Rejection::Changed(Arc::clone(entry)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn put(name: &str, precondition: Precondition) -> Write {
        Write {
            key: Key::new("pods", None, name),
            precondition,
            action: Action::Put(json!({"metadata": {}})),
        }
    }

    fn delete(name: &str, precondition: Precondition) -> Write {
        Write { action: Action::Delete, ..put(name, precondition) }
    }

    fn at(revision: u64) -> Precondition {
        Precondition::Unchanged(Revision(revision))
    }

    fn index() -> Index {
        Index::new(BTreeMap::new(), Revision(5), 10)
    }

    #[test]
    fn writes_of_one_batch_see_each_other() {
        let index = index();
        let mut plan = Plan::new(&index);
        assert_eq!(plan.add(put("a", Precondition::Absent)).unwrap().entry.revision, Revision(6));
        assert!(matches!(plan.add(put("a", Precondition::Absent)), Err(Rejection::Exists(_))));
        assert_eq!(plan.add(put("a", at(6))).unwrap().entry.revision, Revision(7));
        assert!(
            matches!(plan.add(put("a", at(6))), Err(Rejection::Changed(entry)) if entry.revision == Revision(7))
        );
        assert_eq!(plan.add(delete("a", at(7))).unwrap().entry.revision, Revision(8));
        assert!(matches!(plan.add(delete("a", Precondition::Present)), Err(Rejection::Missing(_))));
        assert_eq!(plan.changes.len(), 3, "what was refused leaves no trace");
    }

    #[test]
    fn a_stored_object_bears_its_revision() {
        let index = index();
        let written = Plan::new(&index).add(put("a", Precondition::Absent)).unwrap();
        assert_eq!(written.object["metadata"]["resourceVersion"], "6");
        assert_eq!(written.entry.value(), written.object);
    }
}
