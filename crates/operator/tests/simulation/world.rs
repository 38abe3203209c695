//! The cluster around the operator: the store, what is going to happen, who watches, and what was done.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use asb_core::write::Kind;
use asb_operator::Clock;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::agenda::{Agenda, Deed};
use crate::chance::Chance;
use crate::clock::{VirtualClock, until};
use crate::fate::Storm;
use crate::nodes::Nodes;
use crate::object::{is_deleting, owners, uid};
use crate::processes::Processes;
use crate::store::{Change, FOREGROUND, Id, Store};
use crate::transcript::Transcript;
use crate::witness::{Sent, Witness};
use crate::{cluster, nodes, trouble, users};

/// Who changes something.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Actor<'a> {
    Operator(&'a Sent),
    User,
    Kubelet,
    Collector,
    /// Somebody whose changes mean nothing to us.
    Stranger,
}

pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) agenda: Agenda,
    pub(crate) chance: Chance,
    pub(crate) clock: VirtualClock,
    pub(crate) witness: Witness,
    pub(crate) transcript: Transcript,
    /// What is left of lists that were asked for in pages, and their versions, by where to go on.
    pub(crate) pages: BTreeMap<String, (u64, Vec<Arc<Value>>)>,
    pub(crate) storm: Storm,
    /// Whether things go wrong and users are about.
    pub(crate) is_stormy: bool,
    pub(crate) nodes: Nodes,
    pub(crate) processes: Processes,
    /// Writes that are on their way to the server, or whose answers are on their way back.
    pub(crate) under_way: usize,
}

/// The world, shared by all that happens in it.
pub(crate) struct Cluster {
    world: Mutex<World>,
    /// Told when objects of a kind change. Not a channel, which wakes in any order.
    news: BTreeMap<Kind, Notify>,
    plans: Notify,
}

impl Cluster {
    pub(crate) fn new(seed: u64) -> Self {
        let clock = VirtualClock::start();
        let mut chance = Chance::seeded(seed);
        let world = World {
            store: Store::default(),
            agenda: Agenda::default(),
            storm: Storm::brew(&mut chance),
            chance,
            pages: BTreeMap::new(),
            clock,
            witness: Witness::default(),
            transcript: Transcript::new(clock),
            is_stormy: true,
            nodes: Nodes::default(),
            processes: Processes::default(),
            under_way: 0,
        };
        let news = Kind::ALL.into_iter().map(|kind| (kind, Notify::new())).collect();
        Self { world: Mutex::new(world), news, plans: Notify::new() }
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("nobody fails while holding it")
    }

    /// Does something to the world, and lets everybody know.
    pub(crate) fn act<R>(&self, act: impl FnOnce(&mut World) -> R) -> R {
        let mut world = self.world();
        let before = Kind::ALL.map(|kind| world.store.last(kind));
        let result = act(&mut world);
        for (kind, before) in Kind::ALL.into_iter().zip(before) {
            if world.store.last(kind) != before {
                self.news[&kind].notify_waiters();
            }
        }
        drop(world);
        self.plans.notify_one();
        result
    }

    /// Waits until anything changes.
    pub(crate) async fn news(&self, kind: Kind) {
        self.news[&kind].notified().await;
    }

    /// Waits for as long as a process is cut off.
    pub(crate) async fn connected(&self, process: u32) {
        loop {
            let cut_off = self.world().processes.cut_off_until(process);
            match cut_off {
                Some(over) => until(over).await,
                None => return,
            }
        }
    }

    /// Lets happen what is due, for ever.
    pub(crate) async fn live(&self) {
        loop {
            let next = self.world().agenda.next();
            match next {
                None => self.plans.notified().await,
                Some(due) if Instant::now() < due => drop(timeout_at(due, self.plans.notified()).await),
                Some(_) => self.act(World::happen),
            }
        }
    }
}

impl World {
    fn happen(&mut self) {
        while let Some(deed) = self.agenda.take_due() {
            match deed {
                Deed::UserActs => users::act(self),
                Deed::Trouble => trouble::make(self),
                Deed::NodeChanges => nodes::happen(self),
                Deed::Evict => nodes::evict(self),
                deed => cluster::perform(self, &deed),
            }
        }
    }

    pub(crate) fn now(&self) -> jiff::Timestamp {
        self.clock.now()
    }

    /// Notes a change that the store has taken: what follows from it, and whether it was allowed.
    pub(crate) fn took(&mut self, by: Actor<'_>, what: &str, change: &Change) {
        self.transcript.wrote(by, what, change);
        if change.before.as_deref() == change.after.as_deref() {
            return;
        }
        self.witness.saw(by, change, &self.store, self.clock.now());
        self.follow(change);
    }

    /// Puts a changed object in the place of what is there.
    pub(crate) fn put(&mut self, by: Actor<'_>, what: &str, id: &Id, object: Value) {
        let change = self.store.replace(id.clone(), object);
        self.took(by, what, &change);
    }

    /// What comes of a change by itself.
    fn follow(&mut self, change: &Change) {
        let Change { id, before, after } = change;
        let Some(object) = after else {
            nodes::follow_removal(self, change);
            let gone = uid(before.as_deref().expect("something is gone"));
            return self.collect_after(gone);
        };
        let own = uid(object).to_owned();
        if owners(object).any(|owner| !self.exists(owner["uid"].as_str().unwrap_or_default())) {
            let lag = self.lag(3000);
            self.agenda.add(lag, Deed::Collect(id.clone(), own.clone()));
        }
        let was_deleting = before.as_deref().is_some_and(is_deleting);
        if is_deleting(object) && !was_deleting {
            self.see_off(id, &own, object);
        }
        if id.0 == Kind::Pod && before.is_none() {
            cluster::plan_start(self, id, &own);
        }
    }

    fn collect_after(&mut self, gone: &str) {
        let dependents: Vec<_> = self
            .store
            .all()
            .filter(|(_, object)| owners(object).any(|owner| owner["uid"] == *gone))
            .map(|(id, object)| (id.clone(), uid(object).to_owned()))
            .collect();
        for (id, uid) in dependents {
            let lag = self.lag(3000);
            self.agenda.add(lag, Deed::Collect(id, uid));
        }
    }

    fn see_off(&mut self, id: &Id, own: &str, object: &Value) {
        let finalizers = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        if finalizers.iter().any(|finalizer| finalizer == FOREGROUND) {
            self.agenda.add(std::time::Duration::ZERO, Deed::Foreground(id.clone(), own.to_owned()));
        }
        if finalizers.iter().any(|finalizer| finalizer == cluster::GUARD) {
            let lag = self.lag(5000);
            self.agenda.add(lag, Deed::Unguard(id.clone(), own.to_owned()));
        }
        if id.0 == Kind::Pod {
            // Some take longer than their grace.
            let is_slow = self.is_stormy && self.chance.one_in(12);
            let lag = self.lag(if is_slow { 90_000 } else { 4000 });
            self.agenda.add(lag, Deed::EndPod(id.clone(), own.to_owned()));
        }
    }

    /// A Pod runs from now on.
    pub(crate) fn run(&mut self, pod: &Value) {
        if let Err(violation) = self.nodes.run(pod) {
            self.witness.violation.get_or_insert(violation);
        }
    }

    pub(crate) fn exists(&self, wanted: &str) -> bool {
        self.store.all().any(|(_, object)| uid(object) == wanted)
    }

    /// How long something takes: in a calm, not long.
    pub(crate) fn lag(&mut self, most: u64) -> std::time::Duration {
        let most = if self.is_stormy { most } else { most.min(500) };
        self.chance.millis(most.max(1))
    }
}
