//! How the operator is doing, for probes and metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::caches::Caches;
use crate::claims::Claims;
use crate::pools::Pools;
use crate::sandboxes::Sandboxes;
use crate::templates::Templates;
use crate::workers::Controller;

/// Sees the operator from outside, whatever it is doing.
#[derive(Clone, Debug)]
pub struct Observer {
    caches: Arc<Caches>,
    leading: Arc<AtomicBool>,
}

impl Observer {
    pub(crate) fn new(caches: &Arc<Caches>) -> Self {
        Self { caches: Arc::clone(caches), leading: Arc::default() }
    }

    /// Whether everything there is has been seen once.
    pub fn is_synced(&self) -> bool {
        self.caches.is_synced()
    }

    /// Whether this operator acts.
    pub fn is_leading(&self) -> bool {
        self.leading.load(Ordering::Relaxed)
    }

    pub(crate) fn set_leading(&self, leading: bool) {
        self.leading.store(leading, Ordering::Relaxed);
    }

    /// How much is kept in memory about objects, by what it is: nothing, where there are none and nothing is under way.
    pub fn sizes(&self) -> Vec<(&'static str, usize)> {
        self.caches.sizes()
    }

    /// How many objects wait to be looked at, by controller.
    pub(crate) fn depths(&self) -> [(&'static str, usize); 4] {
        let caches = &self.caches;
        [
            (Sandboxes::NAME, Sandboxes::queue(caches).depth()),
            (Claims::NAME, Claims::queue(caches).depth()),
            (Pools::NAME, Pools::queue(caches).depth()),
            (Templates::NAME, Templates::queue(caches).depth()),
        ]
    }
}
