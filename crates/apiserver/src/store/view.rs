//! What readers see: the index behind a lock that is held for moments, and a bell that rings at each commit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use tokio::sync::watch;

use super::history::Expired;
use super::index::{Change, Index};
use super::{Entry, Key, Revision, Scope};

/// Entries of a scope, all at one revision.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    pub revision: Revision,
    pub entries: Vec<Arc<Entry>>,
}

pub(super) struct View {
    index: RwLock<Index>,
    latest: watch::Sender<Revision>,
    is_failing: AtomicBool,
}

impl View {
    pub(super) fn new(index: Index) -> Self {
        let latest = watch::Sender::new(index.revision());
        Self { index: RwLock::new(index), latest, is_failing: AtomicBool::new(false) }
    }

    /// Nothing that holds the lock can panic half-way through a change, so a poisoned one is as good as any.
    pub(super) fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn revision(&self) -> Revision {
        self.index().revision()
    }

    pub(super) fn get(&self, key: &Key) -> Option<Arc<Entry>> {
        self.index().get(key).cloned()
    }

    pub(super) fn list(&self, scope: &Scope) -> Listing {
        let index = self.index();
        Listing { revision: index.revision(), entries: index.list(scope).cloned().collect() }
    }

    pub(super) fn list_at(
        &self,
        scope: &Scope,
        revision: Revision,
        after: Option<&Key>,
    ) -> Result<Listing, Expired> {
        Ok(Listing { revision, entries: self.index().list_at(scope, revision, after)? })
    }

    /// Shows a committed batch, all of it at once.
    pub(super) fn show(&self, changes: Vec<Change>) {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        for change in changes {
            index.apply(change);
        }
        let revision = index.revision();
        drop(index);
        self.latest.send_replace(revision);
    }

    /// Whether the disk refused the last batch.
    pub(super) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    pub(super) fn note_failing(&self, is_failing: bool) {
        self.is_failing.store(is_failing, Ordering::Relaxed);
    }

    pub(super) fn bell(&self) -> watch::Receiver<Revision> {
        self.latest.subscribe()
    }
}
