//! Decides a batch: which writes hold, and what each makes of its object. Pure; the disk and the readers come after.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

use super::index::{Change, Index};
use super::{Entry, Guard, Key, Revision, Written};

/// A write that a client asked for.
#[derive(Clone, Debug)]
pub struct Write {
    pub key: Key,
    pub precondition: Precondition,
    pub action: Action,
    /// What must hold of other objects.
    pub guards: Vec<Guard>,
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
    /// The object is put like this and then deleted: two changes of which there is never only the first.
    PutThenDelete(Value),
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
    /// What it was decided on is no longer so. Decided anew, it may hold or be refused for a better reason.
    #[error("the write of {0} rests on what has changed since")]
    Outdated(Key),
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
        if !write.guards.iter().all(|guard| self.holds(guard)) {
            return Err(Rejection::Outdated(write.key));
        }
        let current = self.current(&write.key);
        check(&write, current.as_ref())?;
        match (write.action, current) {
            (Action::Put(value), _) => Ok(self.put(write.key, value)),
            (Action::PutThenDelete(value), _) => {
                let last = self.put(write.key.clone(), value);
                Ok(self.delete(write.key, last.object))
            }
            (Action::Delete, Some(last)) => Ok(self.delete(write.key, last.value())),
            (Action::Delete, None) => Err(Rejection::Missing(write.key)),
        }
    }

    fn put(&mut self, key: Key, object: Value) -> Written {
        self.revision = self.revision.next();
        let written = Written::new(key, self.revision, object);
        self.touched.insert(written.entry.key.clone(), Some(Arc::clone(&written.entry)));
        self.changes.push(Change::Put(Arc::clone(&written.entry)));
        written
    }

    fn delete(&mut self, key: Key, last: Value) -> Written {
        self.revision = self.revision.next();
        let written = Written::new(key, self.revision, last);
        self.touched.insert(written.entry.key.clone(), None);
        self.changes.push(Change::Delete(Arc::clone(&written.entry)));
        written
    }

    fn holds(&self, guard: &Guard) -> bool {
        match guard {
            Guard::Unchanged(key, revision) => {
                self.current(key).is_some_and(|entry| entry.revision == *revision)
            }
            Guard::Free { scope, since, is_in_the_way } => {
                // Where the history does not reach back, nobody can tell.
                let Ok(events) = self.index.events(scope, *since) else { return false };
                let batch = self.changes.iter().map(Change::entry).filter(|entry| scope.contains(&entry.key));
                !events.map(|event| &event.entry).chain(batch).any(|entry| is_in_the_way(entry))
            }
        }
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

    use super::super::Scope;
    use super::*;

    fn put(name: &str, precondition: Precondition) -> Write {
        Write {
            key: Key::new("pods", None, name),
            precondition,
            action: Action::Put(json!({"metadata": {}})),
            guards: Vec::new(),
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

    fn resting_on(guard: Guard) -> Write {
        Write { guards: vec![guard], ..put("b", Precondition::Absent) }
    }

    #[test]
    fn a_write_that_rests_on_an_object_is_refused_once_that_is_changed_or_gone() {
        let index = index();
        let mut plan = Plan::new(&index);
        let ground = plan.add(put("a", Precondition::Absent)).unwrap();
        let guard = || Guard::Unchanged(ground.entry.key.clone(), ground.entry.revision);
        assert!(plan.add(resting_on(guard())).is_ok());
        plan.add(put("a", Precondition::Present)).unwrap();
        assert!(
            matches!(plan.add(resting_on(guard())), Err(Rejection::Outdated(_))),
            "before what else is wrong"
        );
        plan.add(delete("a", Precondition::Present)).unwrap();
        assert!(matches!(plan.add(resting_on(guard())), Err(Rejection::Outdated(_))));
    }

    #[test]
    fn a_write_is_refused_for_what_came_into_its_way_since() {
        let mut index = index();
        let free = |since: u64| {
            let is_in_the_way = Arc::new(|entry: &Entry| entry.key.name() == "a");
            resting_on(Guard::Free { scope: Scope::resource("pods"), since: Revision(since), is_in_the_way })
        };
        let mut plan = Plan::new(&index);
        plan.add(put("c", Precondition::Absent)).unwrap();
        assert!(plan.add(free(5)).is_ok(), "of another sort");
        plan.add(put("a", Precondition::Absent)).unwrap();
        assert!(matches!(plan.add(free(5)), Err(Rejection::Outdated(_))), "in the same batch");
        for change in std::mem::take(&mut plan.changes) {
            index.apply(change);
        }
        let seen_by = |since| Plan::new(&index).add(free(since)).unwrap_err();
        assert!(matches!(seen_by(5), Rejection::Outdated(_)));
        assert!(matches!(seen_by(8), Rejection::Exists(_)), "what was there before was seen");
        assert!(matches!(seen_by(4), Rejection::Outdated(_)), "nobody remembers");
    }

    #[test]
    fn what_is_put_and_then_deleted_is_two_changes_and_gone() {
        let index = index();
        let mut plan = Plan::new(&index);
        plan.add(put("a", Precondition::Absent)).unwrap();
        let action = Action::PutThenDelete(json!({"last": "words"}));
        let gone = plan.add(Write { action, ..put("a", at(6)) }).unwrap();
        assert_eq!((gone.entry.revision, &gone.object["last"]), (Revision(8), &json!("words")));
        assert!(matches!(plan.changes[1..], [Change::Put(_), Change::Delete(_)]));
        assert!(matches!(plan.add(delete("a", Precondition::Present)), Err(Rejection::Missing(_))));
    }
}
