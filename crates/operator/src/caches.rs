//! The [`World`], shared: taken over by the watches and by the answers to our writes, read by the controllers, which are
//! woken in their queues.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use asb_core::object::{Key, Metadata, MissingMetadata, Uid};
use asb_core::views::{
    ClaimView, NetworkPolicyView, PodView, PoolView, SandboxView, ServiceView, ShortClaim, ShortPool,
    ShortTemplate, ShorthandView, TemplateView, Unreadable, VolumeView,
};
use asb_core::write::{Kind, Target};
use serde_json::Value;
use tokio::sync::{Notify, watch};

use crate::cache::metadata;
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
    pub(crate) short_claims: Queue,
    pub(crate) short_templates: Queue,
    pub(crate) short_pools: Queue,
}

impl Queues {
    fn all(&self) -> [(&'static str, &Queue); 7] {
        let Self { sandboxes, claims, templates, pools, short_claims, short_templates, short_pools } = self;
        [
            ("queue of Sandboxes", sandboxes),
            ("queue of claims", claims),
            ("queue of templates", templates),
            ("queue of pools", pools),
            ("queue of short claims", short_claims),
            ("queue of short templates", short_templates),
            ("queue of short pools", short_pools),
        ]
    }

    fn sizes(&self) -> [(&'static str, usize); 7] {
        self.all().map(|(name, queue)| (name, queue.size()))
    }

    fn clear(&self) {
        for (_, queue) in self.all() {
            queue.clear();
        }
    }

    /// The queue of a short spelling.
    pub(crate) fn of_shorthand(&self, kind: Kind) -> &Queue {
        match kind.canonical() {
            Kind::SandboxClaim => &self.short_claims,
            Kind::SandboxTemplate => &self.short_templates,
            _ => &self.short_pools,
        }
    }
}

pub(crate) struct Caches {
    world: Mutex<World>,
    pub(crate) queues: Queues,
    pub(crate) memory: Memory,
    /// Whether anybody takes from the queues. Whoever only stands by must not gather the names of all that ever was.
    is_open: AtomicBool,
    synced: watch::Sender<bool>,
    /// How often it was asked that all be listed again. Not a channel, which wakes its receivers in any order.
    asked: AtomicU64,
    asking: Notify,
    /// How often it was.
    listed: watch::Sender<u64>,
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
            is_open: AtomicBool::new(false),
            synced: watch::Sender::new(false),
            asked: AtomicU64::new(0),
            asking: Notify::new(),
            listed: watch::Sender::new(0),
            clock,
        }
    }

    /// From now on the controllers are woken, and first to look at everything there is.
    pub(crate) fn open(&self) {
        self.memory.begin(&self.world());
        self.is_open.store(true, Ordering::SeqCst);
        for wake in self.read(World::everything) {
            self.wake(&wake, Urgency::Backlog);
        }
    }

    /// From now on nobody is woken.
    pub(crate) fn close(&self) {
        self.is_open.store(false, Ordering::SeqCst);
        self.queues.clear();
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

    /// The metadata of an object that is there, also where it cannot be understood.
    pub(crate) fn metadata<V: Held>(&self, key: &Key) -> Option<Metadata> {
        V::cache(&mut self.world()).entry(key).map(|entry| metadata(entry).clone())
    }

    /// Takes over a change, and wakes whom it concerns.
    pub(crate) fn change(&self, urgency: Urgency, change: impl FnOnce(&mut World) -> Vec<Wake>) {
        let (wakes, is_synced, round) = {
            let mut world = self.world();
            world.now = self.clock.now();
            (change(&mut world), world.is_synced(), world.round())
        };
        for wake in wakes {
            self.wake(&wake, urgency);
        }
        self.synced.send_if_modified(|synced| std::mem::replace(synced, is_synced) != is_synced);
        self.listed.send_if_modified(|listed| std::mem::replace(listed, round) != round);
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

    /// Has Sandboxes and claims listed again, and waits for that. What another process wrote before this was asked is known
    /// afterwards, however far the watches lag behind.
    pub(crate) async fn refreshed(&self) {
        let round = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        self.asking.notify_waiters();
        let _ = self.listed.subscribe().wait_for(|listed| *listed >= round).await;
    }

    /// How often it was asked that all be listed again.
    pub(crate) fn round(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Waits until that is asked again.
    pub(crate) async fn after_round(&self, round: u64) {
        loop {
            let asked = self.asking.notified();
            if self.round() > round {
                return;
            }
            asked.await;
        }
    }

    pub(crate) fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    fn wake(&self, wake: &Wake, urgency: Urgency) {
        if !self.is_open.load(Ordering::SeqCst) {
            return;
        }
        match wake {
            Wake::Sandbox(key) => self.queues.sandboxes.add(key, urgency),
            Wake::Claim(key) => self.queues.claims.add(key, urgency),
            Wake::Template(key) => self.queues.templates.add(key, urgency),
            Wake::Pool(key) => self.queues.pools.add(key, urgency),
            Wake::Shorthand(kind, key) => self.queues.of_shorthand(*kind).add(key, urgency),
        }
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
        Kind::ShorthandClaim => world.learn::<ShorthandView<ShortClaim>>(object),
        Kind::ShorthandTemplate => world.learn::<ShorthandView<ShortTemplate>>(object),
        Kind::ShorthandPool => world.learn::<ShorthandView<ShortPool>>(object),
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
        Kind::ShorthandClaim => world.shorthands.claims.uid(key),
        Kind::ShorthandTemplate => world.shorthands.templates.uid(key),
        Kind::ShorthandPool => world.shorthands.pools.uid(key),
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
        Kind::ShorthandClaim => world.learn_gone::<ShorthandView<ShortClaim>>(key, uid),
        Kind::ShorthandTemplate => world.learn_gone::<ShorthandView<ShortTemplate>>(key, uid),
        Kind::ShorthandPool => world.learn_gone::<ShorthandView<ShortPool>>(key, uid),
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use serde_json::json;

    use super::*;

    #[test]
    fn whoever_stands_by_gathers_no_names_and_then_looks_at_what_there_is() {
        let caches = Caches::default();
        let sandbox = |name: &str, version: u64| {
            json!({"metadata": {"namespace": "team", "name": name, "uid": name, "resourceVersion": version.to_string()},
                "spec": {}})
        };
        caches.learn(Kind::Sandbox, &sandbox("gone", 1)).unwrap();
        caches.learn_gone(&Target::new(Kind::Sandbox, Key::new("team", "gone")), &"gone".into());
        caches.learn(Kind::Sandbox, &sandbox("there", 3)).unwrap();
        assert_eq!(caches.queues.sandboxes.depth(), 0);
        caches.open();
        assert_eq!(caches.queues.sandboxes.depth(), 1);
        caches.learn(Kind::Sandbox, &sandbox("new", 4)).unwrap();
        assert_eq!(caches.queues.sandboxes.depth(), 2);
        caches.close();
        assert_eq!(caches.queues.sandboxes.depth(), 0);
    }

    fn listed<V: Held>(caches: &Caches, round: u64) {
        caches.change(Urgency::Backlog, |world| {
            V::cache(world).listed_in(round);
            Vec::new()
        });
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_leader_waits_for_lists_that_began_after_it_leads() {
        let caches = Caches::default();
        let mut refreshed = Box::pin(caches.refreshed());
        assert!(refreshed.as_mut().now_or_never().is_none());
        listed::<SandboxView>(&caches, 1);
        listed::<ClaimView>(&caches, 0);
        assert!(refreshed.as_mut().now_or_never().is_none(), "this one began before");
        listed::<ClaimView>(&caches, 1);
        refreshed.await;
    }
}
