//! All objects and the recent history, in memory. Changes come from committed batches only.

use std::collections::BTreeMap;
use std::ops::Bound::{self, Excluded, Unbounded};
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
        self.range(scope, scope.start())
    }

    /// What was in the scope at a revision, or the part of it that comes after a key.
    pub(super) fn list_at(
        &self,
        scope: &Scope,
        revision: Revision,
        after: Option<&Key>,
    ) -> Result<Vec<Arc<Entry>>, Expired> {
        let is_wanted = |key: &Key| after.is_none_or(|after| key > after);
        let since = self.events(scope, revision)?.rev().filter(|event| is_wanted(&event.entry.key));
        // The earliest change comes last, and what it replaced is what was there.
        let changed: BTreeMap<&Key, Option<&Arc<Entry>>> =
            since.map(|event| (&event.entry.key, event.previous.as_ref())).collect();
        let start = after.map_or_else(|| scope.start(), |key| (Excluded(key.clone()), Unbounded));
        let unchanged = self.range(scope, start).filter(|entry| !changed.contains_key(&entry.key));
        let mut then: Vec<Arc<Entry>> =
            unchanged.chain(changed.values().copied().flatten()).cloned().collect();
        if !changed.is_empty() {
            then.sort_by(|one, other| one.key.cmp(&other.key));
        }
        Ok(then)
    }

    fn range(&self, scope: &Scope, start: (Bound<Key>, Bound<Key>)) -> impl Iterator<Item = &Arc<Entry>> {
        self.objects.range(start).map(|(_, entry)| entry).take_while(|entry| scope.contains(&entry.key))
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
