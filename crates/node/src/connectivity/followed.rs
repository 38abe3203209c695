//! A kind that is followed, and whether it changed since somebody looked.

use std::fmt::Debug;

use kube::api::Resource;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::cache::Cache;

pub(super) struct Followed<K: Resource<DynamicType = ()> + 'static> {
    pub(super) cache: Cache<K>,
    changes: watch::Receiver<u64>,
    is_new: bool,
}

impl<K> Followed<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    /// Nobody has looked yet, so there is something new.
    pub(super) fn new(cache: Cache<K>) -> Self {
        Self { changes: cache.changes(), cache, is_new: true }
    }

    /// Returns when there is something that nobody has looked at.
    pub(super) async fn changed(&mut self) {
        if !self.is_new && self.changes.changed().await.is_err() {
            // Nobody tells any more: the node is ending.
            std::future::pending::<()>().await;
        }
        self.is_new = true;
    }

    /// Whether there is something new, which counts as looked at from now on.
    pub(super) fn look(&mut self) -> bool {
        let has_changed = self.changes.has_changed().unwrap_or(false);
        self.changes.mark_unchanged();
        std::mem::take(&mut self.is_new) || has_changed
    }

    /// What was looked at could not be used: it is new again.
    pub(super) fn look_again(&mut self) {
        self.is_new = true;
    }
}
