//! How the operator is doing, for probes and metrics.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use asb_core::census::{Category, Membership};
use asb_core::views::{ShortClaim, ShortPool, ShortTemplate};

use crate::caches::Caches;
use crate::claims::Claims;
use crate::pools::Pools;
use crate::queue::Queue;
use crate::sandboxes::Sandboxes;
use crate::shorthand::Shorthand;
use crate::templates::Templates;
use crate::workers::Controller;
use crate::world::World;

/// The controllers, as metrics name them.
pub(crate) const CONTROLLERS: [&str; 7] = [
    Sandboxes::NAME,
    Claims::NAME,
    Pools::NAME,
    Templates::NAME,
    Shorthand::<ShortClaim>::NAME,
    Shorthand::<ShortPool>::NAME,
    Shorthand::<ShortTemplate>::NAME,
];

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

    /// What waits to be looked at, by controller.
    pub(crate) fn queues(&self) -> [(&'static str, &Queue); 7] {
        let caches = &self.caches;
        [
            queue::<Sandboxes>(caches),
            queue::<Claims>(caches),
            queue::<Pools>(caches),
            queue::<Templates>(caches),
            queue::<Shorthand<ShortClaim>>(caches),
            queue::<Shorthand<ShortPool>>(caches),
            queue::<Shorthand<ShortTemplate>>(caches),
        ]
    }

    /// How many Sandboxes there are, of each sort.
    pub(crate) fn census(&self) -> BTreeMap<Category, u64> {
        self.caches.read(|world| world.census.counts().clone())
    }

    /// How many members pools have, of each sort. A pool without any that is Ready says so.
    pub(crate) fn members(&self) -> BTreeMap<Membership, u64> {
        self.caches.read(World::members)
    }
}

fn queue<C: Controller>(caches: &Caches) -> (&'static str, &Queue) {
    (C::NAME, C::queue(caches))
}
