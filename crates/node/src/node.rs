//! The node as a whole: everything that it takes to run Pods on this machine, started in order and stopped together.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use asb_core::pod::lifecycle::Halt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use rustix::process::Resource;
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_util::sync::CancellationToken;

use crate::blueprint::{self, Resolver};
use crate::cache::Cache;
use crate::claims::{self, Claims};
use crate::connectivity::{self, Connectivity};
use crate::driver::{self, Tools};
use crate::events::Events;
use crate::halt;
use crate::identity::{Identity, IdentityError};
use crate::images::Images;
use crate::neighbours;
use crate::presence::{self, Presence};
use crate::runtimes;
use crate::scheduling::{Scheduling, Sources};
use crate::settings::{DOMAIN, Settings};
use crate::streams::Streams;
use crate::trash::Trash;
use crate::volumes::Layout;

const LOG_BYTES: u64 = 10 << 20;
const LOG_FILES: u32 = 5;
/// What keeps one Pod from taking all processes of the machine.
const PIDS: u64 = 4096;

/// Where the machine sets no limit, which the kernel does.
const OPEN_FILES: u64 = 1 << 20;

/// How long after their grace containers may take to be killed, and to be told of.
const LATE: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error("cannot write the node onto the list of this machine's")]
    Neighbours(#[source] io::Error),
    #[error("cannot find out which Pods run already")]
    Survivors(#[source] io::Error),
    #[error(transparent)]
    Connectivity(#[from] connectivity::Error),
    #[error(transparent)]
    Presence(#[from] presence::Error),
    #[error(transparent)]
    Claims(#[from] claims::Error),
    #[error("cannot lay down sandboxd for Sandboxes")]
    Carried(#[source] io::Error),
    #[error("cannot make the usual runtime classes")]
    Classes(#[source] kube::Error),
}

/// Ends when it is stopped; Pods go on.
pub struct Node {
    streams: Streams,
    connectivity: Connectivity,
    _presence: Presence,
    _scheduling: Scheduling,
    driver: JoinHandle<()>,
    halt: watch::Sender<Option<Halt>>,
    /// Nothing runs on it any more.
    rested: CancellationToken,
    stop: CancellationToken,
    root: PathBuf,
}

impl Node {
    /// Finds what runs already, connects it, registers the node, and begins to run Pods.
    pub async fn start(client: Client, settings: &Settings, images: Arc<Images>) -> Result<Self, NodeError> {
        if let Some(carried) = settings.carried {
            carried.offer(&Layout::new(&settings.root).runtime()).map_err(NodeError::Carried)?;
        }
        neighbours::clear_the_lost().await;
        let mut identity = Identity::of(&settings.root)?;
        if neighbours::has_another(&identity) && settings.pods.is_none() {
            identity.pods = None;
        }
        neighbours::enter(&settings.root, &identity).map_err(NodeError::Neighbours)?;
        let pods = Cache::all_of(&client);
        pods.ready().await;
        let known = survivors(&settings.root, &pods).await?;
        let connectivity =
            Connectivity::start(client.clone(), settings, &mut identity, pods.clone(), known).await?;
        // With the range that it has chosen.
        neighbours::enter(&settings.root, &identity).map_err(NodeError::Neighbours)?;
        let presence = Presence::start(client.clone(), settings, vec![address()]).await?;
        runtimes::provide_classes(&client).await.map_err(NodeError::Classes)?;
        let events = Events::start(client.clone(), "kubelet", &settings.name);
        let volume_claims = Cache::all_of(&client);
        let sources = Sources {
            pods: pods.clone(),
            nodes: presence.nodes(),
            namespaces: Cache::all_of(&client),
            claims: volume_claims.clone(),
            classes: Cache::all_of(&client),
        };
        let trash = Trash::of(&settings.root);
        let claims =
            Claims::start(client.clone(), settings, pods.clone(), volume_claims, &events, &trash).await?;
        let scheduling = Scheduling::start(client.clone(), &settings.name, sources, &events);
        let streams = Streams::new(settings.root.clone(), pods.clone());
        let node = describe(settings, &identity, &presence, &connectivity);
        let (halt, rested) = (watch::Sender::new(None), CancellationToken::new());
        let tools = Tools {
            runtimes: runtimes::find(&settings.runtimes),
            root: settings.root.clone(),
            allow: settings.allow.clone(),
            shim: settings.shim.clone(),
            token_age: settings.token_age,
            services: Cache::all_of(&client),
            nodes: presence.nodes(),
            connectivity: connectivity.clone(),
            ids: driver::Ids::default(),
            node,
            images,
            claims,
            events,
            trash,
            halt: halt.clone(),
            rested: rested.clone(),
            pods,
            client,
        };
        let (stop, root) = (CancellationToken::new(), settings.root.clone());
        let driver = tokio::spawn(driver::run(Arc::new(tools), stop.clone()));
        Ok(Self {
            streams,
            connectivity,
            _presence: presence,
            _scheduling: scheduling,
            driver,
            halt,
            rested,
            stop,
            root,
        })
    }

    /// What goes in and out of its Pods.
    pub fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Stops what runs in Pods, each with its hooks, its signal and its own grace, but none for longer than this; then stops.
    /// Whoever starts the node again starts them again.
    pub async fn halt(self, grace: Duration) {
        self.halt.send_replace(Some(Halt { since: Timestamp::now(), grace }));
        if tokio::time::timeout(grace + LATE, self.rested.cancelled()).await.is_err() {
            tracing::warn!("not everything that runs in Pods has stopped in time");
        }
        self.stop().await;
    }

    /// Leaves Pods, links and rules as they are; where no Pod runs, nothing is left but files.
    pub async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.driver.await {
            tracing::error!(%error, "the driver of Pods broke");
        }
        self.connectivity.end().await;
        let is_empty = halt::running(&self.root).is_ok_and(|running| running.is_empty());
        if is_empty && let Err(error) = halt::clear(&self.root).await {
            tracing::warn!(%error, "the machine keeps rules and addresses of Pods until the next start");
        }
    }
}

/// The Pods that may be connected still, with their addresses.
async fn survivors(root: &Path, pods: &Cache<Pod>) -> Result<Vec<(Pod, Ipv4Addr)>, NodeError> {
    let root = root.to_owned();
    let found = spawn_blocking(move || driver::survivors(&root)).await.map_err(io::Error::other);
    let found = found.flatten().map_err(NodeError::Survivors)?;
    let known = found.into_iter().filter_map(|(uid, journal)| {
        let pod = pods.get(&journal.namespace, &journal.name)?;
        let is_same = pod.metadata.uid.as_deref() == Some(uid.as_str());
        Some((Pod::clone(&pod), journal.address.filter(|_| is_same)?))
    });
    Ok(known.collect())
}

fn describe(
    settings: &Settings,
    identity: &Identity,
    presence: &Presence,
    connectivity: &Connectivity,
) -> blueprint::Node {
    let own = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let capacity = presence.capacity().clone();
    blueprint::Node {
        name: settings.name.clone(),
        addresses: vec![address()],
        memory: capacity.memory,
        allocatable: capacity.allocatable,
        pids_per_pod: Some(PIDS),
        open_files: rustix::process::getrlimit(Resource::Nofile).maximum.unwrap_or(OPEN_FILES),
        cgroup: identity.cgroup().into(),
        domain: DOMAIN.to_owned(),
        name_servers: vec![connectivity.node().to_string()],
        resolver: Resolver::read(&own),
        logs: settings.root.join("logs"),
        log_bytes: LOG_BYTES,
        log_files: LOG_FILES,
    }
}

/// The address with which this machine goes out; its own loopback where it does not.
fn address() -> String {
    let found = || -> io::Result<String> {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        // Nothing is sent.
        socket.connect("192.0.2.1:9")?;
        Ok(socket.local_addr()?.ip().to_string())
    };
    found().unwrap_or_else(|_| "127.0.0.1".to_owned())
}
