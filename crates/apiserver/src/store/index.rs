//! All objects and the recent history, in memory. Changes come from committed batches only.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::history::{Expired, History};
use super::{Entry, Event, EventKind, Key, Revision, Scope};

pub(super) struct Index {
    objects: BTreeMap<Key, Arc<Entry>>,
    history: History,
    revision: Revision,
}

/// A write that has its revision: the new state, or the last one of what is deleted.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Put(Arc<Entry>),
    Delete(Arc<Entry>),
}

impl Change {
    pub(super) fn entry(&self) -> &Arc<Entry> {
        match self {
            Self::Put(entry) | Self::Delete(entry) => entry,
        }
    }
}

impl Index {
    pub(super) fn new(objects: BTreeMap<Key, Arc<Entry>>, revision: Revision, history: usize) -> Self {
        Self { objects, history: History::new(revision, history), revision }
    }

    pub(super) fn revision(&self) -> Revision {
        self.revision
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Entry>> {
        self.objects.get(key)
    }

    pub(super) fn list(&self, scope: &Scope) -> impl Iterator<Item = &Arc<Entry>> {
        self.objects
            .range(scope.start())
            .map(|(_, entry)| entry)
            .take_while(|entry| scope.contains(&entry.key))
    }

    /// Undoes, on a copy, what happened in the scope since.
    pub(super) fn list_at(&self, scope: &Scope, revision: Revision) -> Result<Vec<Arc<Entry>>, Expired> {
        let mut then: BTreeMap<&Key, &Arc<Entry>> =
            self.list(scope).map(|entry| (&entry.key, entry)).collect();
        for event in self.events(scope, revision)?.rev() {
            match &event.previous {
                Some(previous) => then.insert(&previous.key, previous),
                None => then.remove(&event.entry.key),
            };
        }
        Ok(then.into_values().cloned().collect())
    }

    pub(super) fn events<'a>(
        &'a self,
        scope: &'a Scope,
        after: Revision,
    ) -> Result<impl DoubleEndedIterator<Item = &'a Event>, Expired> {
        Ok(self.history.after(after)?.filter(|event| scope.contains(&event.entry.key)))
    }

    pub(super) fn apply(&mut self, change: Change) {
        let entry = Arc::clone(change.entry());
        self.revision = entry.revision;
        let previous = match &change {
            Change::Put(entry) => self.objects.insert(entry.key.clone(), Arc::clone(entry)),
            Change::Delete(entry) => self.objects.remove(&entry.key),
        };
        let kind = match (&change, &previous) {
            (Change::Delete(_), _) => EventKind::Deleted,
            (Change::Put(_), None) => EventKind::Added,
            (Change::Put(_), Some(_)) => EventKind::Modified,
        };
        self.history.push(Event { kind, entry, previous });
    }
}
