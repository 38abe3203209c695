//! Gives Pods their node: binds those that fit, says of the others why not, and makes room for those of more priority.
//!
//! What is decided is decided by `core::pod::scheduler`; [`memory`] holds what was decided and is not seen yet, so that one look
//! can decide about many, and [`writes`] tells the API server.

mod memory;
mod writes;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use asb_core::pod::selection::Labels;
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::{Client, ResourceExt};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use self::memory::{Memory, Snapshot};
use self::writes::{Done, Outcome, Writer};
use crate::cache::Cache;
use crate::events::Events;
use crate::volumes::claim;

/// How soon Pods that wait are looked at again, whatever happens meanwhile. New ones are looked at at once.
const PAUSE: Duration = Duration::from_millis(20);

/// What decisions depend on.
#[derive(Clone)]
pub struct Sources {
    pub pods: Cache<Pod>,
    /// Of which the one that Pods are bound to counts.
    pub nodes: Cache<Node>,
    pub namespaces: Cache<Namespace>,
    pub claims: Cache<PersistentVolumeClaim>,
    pub classes: Cache<StorageClass>,
}

/// The scheduler, for as long as this lives.
pub struct Scheduling {
    _task: AbortOnDropHandle<()>,
}

impl Scheduling {
    /// `node` is its name. To be called within a runtime.
    pub fn start(client: Client, node: &str, sources: Sources, events: &Events) -> Self {
        let events = events.speaking_as(asb_core::pod::scheduler::DEFAULT);
        let scheduler = Scheduler {
            node: node.to_owned(),
            sources,
            writer: Writer { client, node: node.to_owned(), events },
            memory: Memory::default(),
            writes: JoinSet::new(),
        };
        Self { _task: AbortOnDropHandle::new(tokio::spawn(scheduler.run())) }
    }
}

struct Scheduler {
    node: String,
    sources: Sources,
    writer: Writer,
    memory: Memory,
    writes: JoinSet<Done>,
}

impl Scheduler {
    async fn run(mut self) {
        self.sources.ready().await;
        let mut changes = self.sources.changes();
        let mut last = Instant::now();
        loop {
            let (pods, now) = (self.sources.pods.all(), Instant::now());
            let is_due = now >= last + PAUSE || self.memory.has_news(&pods);
            if is_due {
                self.look(&pods, now);
                last = now;
            }
            let next = if is_due { self.memory.next() } else { Some(last + PAUSE) };
            tokio::select! {
                biased;
                () = changes.any() => {}
                Some(done) = self.writes.join_next() => self.settle(done),
                () = until(next) => {}
            }
        }
    }

    fn look(&mut self, pods: &[Arc<Pod>], now: Instant) {
        let Some(node) = self.sources.nodes.get("", &self.node) else { return };
        if !self.memory.is_needed(pods) {
            return;
        }
        let (namespaces, claims) = (self.sources.labels(), &self.sources.claims);
        let claim = |namespace: &str, name: &str| claims.get(namespace, name);
        let is_delayed = |claim: &PersistentVolumeClaim| self.sources.is_delayed(claim);
        let snapshot =
            Snapshot { node: &node, pods, namespaces: &namespaces, claim: &claim, is_delayed: &is_delayed };
        self.memory.plan(&snapshot, now, |step| {
            let writer = self.writer.clone();
            self.writes.spawn(async move { writer.carry_out(step).await });
        });
    }

    fn settle(&mut self, done: Result<Done, tokio::task::JoinError>) {
        let Ok(Done { uid, outcome }) = done else { return };
        match outcome {
            Outcome::Written => {}
            Outcome::Outdated => self.memory.outdated(),
            Outcome::Failed(error) => {
                tracing::warn!(pod = uid, %error, "could not write what was decided about a Pod");
                self.memory.failed(&uid, Instant::now());
            }
        }
    }
}

/// For ever, if there is no such time.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Whatever changes first.
struct Changes([watch::Receiver<u64>; 5]);

impl Changes {
    async fn any(&mut self) {
        let all = self.0.iter_mut().map(|one| Box::pin(one.changed()));
        // A sender lives as long as the cache that is held beside this.
        let _ = futures::future::select_all(all).await;
    }
}

impl Sources {
    async fn ready(&self) {
        self.pods.ready().await;
        self.nodes.ready().await;
        self.namespaces.ready().await;
        self.claims.ready().await;
        self.classes.ready().await;
    }

    fn changes(&self) -> Changes {
        let Self { pods, nodes, namespaces, claims, classes } = self;
        let changes =
            [pods.changes(), nodes.changes(), namespaces.changes(), claims.changes(), classes.changes()];
        Changes(changes)
    }

    fn is_delayed(&self, claim: &PersistentVolumeClaim) -> bool {
        let name = claim.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref());
        let class = name.and_then(|name| self.classes.get("", name));
        class.is_some_and(|class| claim::is_delayed(&class))
    }

    fn labels(&self) -> BTreeMap<String, Labels> {
        let labels = |namespace: &Namespace| namespace.metadata.labels.clone().unwrap_or_default();
        self.namespaces.all().iter().map(|namespace| (namespace.name_any(), labels(namespace))).collect()
    }
}
