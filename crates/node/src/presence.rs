//! The node as the cluster sees it: its Node object, kept true, and the Lease that shows it alive.
//!
//! One of the same name that was there before is taken over, with what users set: labels, taints, whether it is cordoned. When
//! this ends nothing is marked, because the Pods live on.

mod conditions;
mod lease;
mod machine;
mod object;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::time::MissedTickBehavior;
use tokio_util::task::AbortOnDropHandle;

use self::lease::Renewal;
use self::machine::Machine;
use self::object::Described;
use crate::cache::Cache;
use crate::quantity::List;
use crate::settings::Settings;

/// How often the machine is looked at and the Lease renewed.
const INTERVAL: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot find out what this machine has")]
    Machine(#[from] std::io::Error),
    #[error("cannot register the node")]
    Register(#[from] kube::Error),
}

/// What Pods may use of this machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capacity {
    /// Bytes, all of them.
    pub memory: u64,
    pub allocatable: List,
}

/// A node that is registered, and kept so until this goes.
pub struct Presence {
    capacity: Capacity,
    nodes: Cache<Node>,
    _task: AbortOnDropHandle<()>,
}

impl Presence {
    /// Returns once the Node is there and Ready. `addresses` are the machine's, the primary one first.
    pub async fn start(client: Client, settings: &Settings, addresses: Vec<String>) -> Result<Self, Error> {
        let only = watcher::Config::default().fields(&format!("metadata.name={}", settings.name));
        let nodes = Cache::follow(Api::all(client.clone()), only);
        let (name, root) = (settings.name.clone(), settings.root.clone());
        let keeper = Keeper { client, name, addresses, root };
        let machine = keeper.measure().await?;
        let capacity = Capacity { memory: machine.memory, allocatable: object::allocatable(&machine) };
        let node = keeper.keep(&machine).await?;
        let renewal = Renewal::new(keeper.client.clone(), &node);
        renewal.renew().await?;
        nodes.ready().await;
        let task = AbortOnDropHandle::new(tokio::spawn(keeper.run(renewal, nodes.clone())));
        Ok(Self { capacity, nodes, _task: task })
    }

    pub fn capacity(&self) -> &Capacity {
        &self.capacity
    }

    /// The Node as it is now; nothing for the moment in which somebody deleted it.
    pub fn node(&self) -> Option<Arc<Node>> {
        self.nodes.all().into_iter().next()
    }

    /// For others who follow it: this one Node and no other.
    pub fn nodes(&self) -> Cache<Node> {
        self.nodes.clone()
    }
}

struct Keeper {
    client: Client,
    name: String,
    addresses: Vec<String>,
    root: PathBuf,
}

impl Keeper {
    async fn run(self, mut renewal: Renewal, nodes: Cache<Node>) {
        let mut changes = nodes.changes();
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_due = tokio::select! {
                _ = ticks.tick() => true,
                Ok(()) = changes.changed() => false,
            };
            if is_due && let Err(error) = renewal.renew().await {
                tracing::warn!(%error, "cannot renew the node's lease");
            }
            match self.look().await {
                Ok(node) => renewal.adopt(&node),
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "cannot update the Node");
                }
            }
        }
    }

    async fn look(&self) -> Result<Node, Error> {
        Ok(self.keep(&self.measure().await?).await?)
    }

    /// On a thread of its own: a file system may take its time.
    async fn measure(&self) -> std::io::Result<Machine> {
        let root = self.root.clone();
        tokio::task::spawn_blocking(move || Machine::read(&root)).await?
    }

    /// Makes the Node say what is true, and writes only what it does not say yet.
    async fn keep(&self, machine: &Machine) -> Result<Node, kube::Error> {
        let (nodes, now) = (Api::<Node>::all(self.client.clone()), Timestamp::now());
        let described = Described { name: &self.name, machine, addresses: &self.addresses };
        let mut node = match nodes.get_opt(&self.name).await? {
            Some(node) => node,
            None => nodes.create(&PostParams::default(), &described.node(now)).await?,
        };
        let parameters = PatchParams::default();
        if let Some(patch) = described.upkeep(&node) {
            node = nodes.patch(&self.name, &parameters, &Patch::Merge(patch)).await?;
        }
        if let Some(patch) = described.report(&node, now) {
            node = nodes.patch_status(&self.name, &parameters, &Patch::Merge(patch)).await?;
        }
        Ok(node)
    }
}
