//! The [`World`], shared: taken over by the watches and by the answers to our writes, read by the controllers, which are
//! woken in their queues.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use asb_core::object::{Key, MissingMetadata, Uid};
use asb_core::views::{
    ClaimView, NetworkPolicyView, PodView, PoolView, SandboxView, ServiceView, TemplateView, Unreadable,
    VolumeView,
};
use asb_core::write::{Kind, Target};
use serde_json::Value;
use tokio::sync::watch;

use crate::clock::Clock;
use crate::memory::Memory;
use crate::queue::{Queue, Urgency};
use crate::world::{Held, Wake, World};

/// One queue per controller.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    pub(crate) sandboxes: Queue,
    pub(crate) claims: Queue,
    pub(crate) templates: Queue,
    pub(crate) pools: Queue,
}

impl Queues {
    fn of<'a>(&'a self, wake: &'a Wake) -> (&'a Queue, &'a Key) {
        match wake {
            Wake::Sandbox(key) => (&self.sandboxes, key),
            Wake::Claim(key) => (&self.claims, key),
            Wake::Template(key) => (&self.templates, key),
            Wake::Pool(key) => (&self.pools, key),
        }
    }

    fn sizes(&self) -> [(&'static str, usize); 4] {
        let Self { sandboxes, claims, templates, pools } = self;
        [
            ("queue of Sandboxes", sandboxes.size()),
            ("queue of claims", claims.size()),
            ("queue of templates", templates.size()),
            ("queue of pools", pools.size()),
        ]
    }

    /// Takes back the keys of workers that were stopped while they looked at them.
    pub(crate) fn reclaim(&self) {
        let Self { sandboxes, claims, templates, pools } = self;
        for queue in [sandboxes, claims, templates, pools] {
            queue.reclaim();
        }
    }
}

pub(crate) struct Caches {
    world: Mutex<World>,
    pub(crate) queues: Queues,
    pub(crate) memory: Memory,
    /// Whether somebody looks at what is in the queues.
    is_worked: AtomicBool,
    synced: watch::Sender<bool>,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Caches {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Caches").field("queues", &self.queues).finish_non_exhaustive()
    }
}

#[cfg(test)]
impl Default for Caches {
    fn default() -> Self {
        Self::new(Arc::new(crate::clock::SystemClock))
    }
}

impl Caches {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            world: Mutex::default(),
            queues: Queues::default(),
            memory: Memory::default(),
            is_worked: AtomicBool::new(false),
            synced: watch::Sender::new(false),
            clock,
        }
    }

    /// From now on somebody looks at what is in the queues.
    pub(crate) fn open(&self) {
        self.is_worked.store(true, Ordering::Relaxed);
        self.memory.begin(&self.world());
    }

    /// From now on nobody does.
    pub(crate) fn close(&self) {
        self.is_worked.store(false, Ordering::Relaxed);
        self.queues.reclaim();
    }

    /// How much is kept about objects, by what it is. Nothing where there are none and nothing is under way.
    pub(crate) fn sizes(&self) -> Vec<(&'static str, usize)> {
        let world = self.world().sizes();
        world.into_iter().chain(self.queues.sizes()).chain(self.memory.sizes()).collect()
    }

    /// Looks at what is known. Quick: everybody else waits meanwhile.
    pub(crate) fn read<R>(&self, look: impl FnOnce(&World) -> R) -> R {
        look(&self.world())
    }

    /// The object, if it is there and cannot be understood.
    pub(crate) fn unreadable<V: Held>(&self, key: &Key) -> Option<Arc<Unreadable>> {
        V::cache(&mut self.world()).unreadable(key)
    }

    /// Takes over a change, and wakes whom it concerns.
    pub(crate) fn change(&self, urgency: Urgency, change: impl FnOnce(&mut World) -> Vec<Wake>) {
        let (wakes, gone, is_synced) = {
            let mut world = self.world();
            world.now = self.clock.now();
            let wakes = change(&mut world);
            let (wakes, gone) = self.sort_out(&world, wakes);
            (wakes, gone, world.is_synced())
        };
        for (queue, key) in wakes.iter().map(|wake| self.queues.of(wake)) {
            queue.add(key, urgency);
        }
        for (queue, key) in gone.iter().map(|wake| self.queues.of(wake)) {
            queue.forget(key);
        }
        self.synced.send_if_modified(|synced| std::mem::replace(synced, is_synced) != is_synced);
    }

    /// Takes over an object from the answer to a read or write of ours.
    pub(crate) fn learn(&self, kind: Kind, object: &Value) -> Result<(), MissingMetadata> {
        let mut outcome = Ok(());
        self.change(Urgency::Live, |world| {
            learn(world, kind, object).unwrap_or_else(|error| {
                outcome = Err(error);
                Vec::new()
            })
        });
        outcome
    }

    /// Takes over that an object is gone.
    pub(crate) fn learn_gone(&self, target: &Target, uid: &Uid) {
        self.change(Urgency::Live, |world| learn_gone(world, target.kind, &target.key, uid));
    }

    /// Which object is known under a name.
    pub(crate) fn uid(&self, target: &Target) -> Option<Uid> {
        self.read(|world| uid(world, target.kind, &target.key))
    }

    /// Waits until everything there is has been listed once.
    pub(crate) async fn synced(&self) {
        // The sender lives as long as `self`, so that waiting cannot fail.
        let _ = self.synced.subscribe().wait_for(|synced| *synced).await;
    }

    pub(crate) fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Whom to wake, and whom to forget. Where nobody works, nobody has to hear of what is gone, and the queues of a
    /// replica that waits for its turn would grow with everything that ever was.
    fn sort_out(&self, world: &World, wakes: Vec<Wake>) -> (Vec<Wake>, Vec<Wake>) {
        let is_worked = self.is_worked.load(Ordering::Relaxed);
        wakes.into_iter().partition(|wake| is_worked || world.knows(wake))
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn learn(world: &mut World, kind: Kind, object: &Value) -> Result<Vec<Wake>, MissingMetadata> {
    match kind {
        Kind::Sandbox => world.learn::<SandboxView>(object),
        Kind::SandboxClaim => world.learn::<ClaimView>(object),
        Kind::SandboxTemplate => world.learn::<TemplateView>(object),
        Kind::SandboxWarmPool => world.learn::<PoolView>(object),
        Kind::Pod => world.learn::<PodView>(object),
        Kind::Service => world.learn::<ServiceView>(object),
        Kind::PersistentVolumeClaim => world.learn::<VolumeView>(object),
        Kind::NetworkPolicy => world.learn::<NetworkPolicyView>(object),
    }
}

fn uid(world: &World, kind: Kind, key: &Key) -> Option<Uid> {
    match kind {
        Kind::Sandbox => world.sandboxes.uid(key),
        Kind::SandboxClaim => world.claims.uid(key),
        Kind::SandboxTemplate => world.templates.uid(key),
        Kind::SandboxWarmPool => world.pools.uid(key),
        Kind::Pod => world.pods.uid(key),
        Kind::Service => world.services.uid(key),
        Kind::PersistentVolumeClaim => world.volumes.uid(key),
        Kind::NetworkPolicy => world.network_policies.uid(key),
    }
}

fn learn_gone(world: &mut World, kind: Kind, key: &Key, uid: &Uid) -> Vec<Wake> {
    match kind {
        Kind::Sandbox => world.learn_gone::<SandboxView>(key, uid),
        Kind::SandboxClaim => world.learn_gone::<ClaimView>(key, uid),
        Kind::SandboxTemplate => world.learn_gone::<TemplateView>(key, uid),
        Kind::SandboxWarmPool => world.learn_gone::<PoolView>(key, uid),
        Kind::Pod => world.learn_gone::<PodView>(key, uid),
        Kind::Service => world.learn_gone::<ServiceView>(key, uid),
        Kind::PersistentVolumeClaim => world.learn_gone::<VolumeView>(key, uid),
        Kind::NetworkPolicy => world.learn_gone::<NetworkPolicyView>(key, uid),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_queues_of_a_replica_that_waits_for_its_turn_hold_only_what_is_there() {
        let caches = Caches::default();
        for name in ["gone", "there"] {
            let metadata = json!({"namespace": "team", "name": name, "uid": name, "resourceVersion": "1"});
            caches.learn(Kind::Sandbox, &json!({"metadata": metadata})).unwrap();
        }
        let gone = Target::new(Kind::Sandbox, Key::new("team", "gone"));
        caches.learn_gone(&gone, &"gone".into());
        assert_eq!(caches.queues.sandboxes.size(), 1);
        caches.open();
        caches.learn_gone(&Target::new(Kind::Sandbox, Key::new("team", "there")), &"there".into());
        assert_eq!(caches.queues.sandboxes.size(), 1, "whoever works is told");
    }
}
