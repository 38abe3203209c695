//! Who of the Pods reaches whom: joins what is decided about the network to the objects of the API server, and keeps
//! rules, names and EndpointSlices up to date with them.
//!
//! One task, the [`keeper`], owns what is connected and writes all rules; whatever comes while it writes is one change
//! together. Starting and ending the processes of Pods is left to others.

mod api_server;
mod door;
mod endpoints;
mod error;
mod followed;
mod keeper;
mod objects;
mod range;
mod roster;
#[cfg(test)]
mod tests;
mod upstreams;

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use asb_core::network::cidr::Cidr;
use asb_core::network::reservations::Reservations;
use asb_core::network::ruleset::{self, DNS_PORT};
use asb_core::object::Uid;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::cache::Cache;
use crate::identity::Identity;
use crate::network::{Census, Network, Options, dns};
use crate::settings::Settings;
use door::Door;
pub use error::Error;
use keeper::{Keeper, Request};
use objects::{Caches, Objects};
use roster::Roster;
use upstreams::Upstreams;

/// How many requests may wait; more wait at the door.
const QUEUE: usize = 1024;

#[derive(Clone)]
pub struct Connectivity(Arc<Inner>);

struct Inner {
    network: Arc<Network>,
    reservations: Mutex<Reservations>,
    requests: mpsc::Sender<Request>,
    /// Ends them when it goes.
    tasks: Mutex<JoinSet<()>>,
}

impl Connectivity {
    /// Chooses the range of Pods or keeps it, prepares the host, and puts rules in force that know the Pods that run
    /// already, with the addresses they have: those of a daemon that was started again. They replace the rules of the
    /// daemon before at one instant. Links of other Pods stay until [`Self::sweep`].
    pub async fn start(
        client: kube::Client,
        settings: &Settings,
        identity: &mut Identity,
        pods: Cache<Pod>,
        known: Vec<(Pod, Ipv4Addr)>,
    ) -> Result<Self, Error> {
        let range = range::settle(settings, identity)?;
        let mut reservations = Reservations::new(range);
        let roster = Roster::of(known, &mut reservations)?;
        let node = reservations.node();
        let network = Network::start(options(identity, node)).map_err(Error::network)?;
        let caches = Caches::of(&client, pods);
        let objects = Objects::follow(&client, caches.clone()).await?;
        let uplinks = network.prepare().await.map_err(Error::network)?;
        let mut rules = ruleset::Settings::new(range, node);
        rules.prefix = identity.links();
        rules.uplinks = uplinks.into_iter().map(|uplink| uplink.interface).collect();
        let door = Door::open(node, settings.api).await?;
        rules.api = Some(door.address);
        let network = Arc::new(network);
        let (view, viewed) = watch::channel(dns::View::default());
        let upstreams = Upstreams::of_host();
        let mut keeper = Keeper::new(Arc::clone(&network), rules, objects, roster, upstreams, view);
        keeper.begin().await?;
        rest_leftovers(&network, &mut reservations).await?;
        let address = (node, DNS_PORT).into();
        let names = dns::Server::start(address, viewed).await;
        let names = names.map_err(|error| Error::Names(address, Arc::new(error)))?;
        let (requests, asked) = mpsc::channel(QUEUE);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            keeper.run(asked).await;
            drop(names);
        });
        tasks.spawn(api_server::keep(client.clone(), caches.clone(), door.address));
        tasks.spawn(door.carry());
        tasks.spawn(endpoints::keep(client, caches));
        let inner =
            Inner { network, reservations: Mutex::new(reservations), requests, tasks: Mutex::new(tasks) };
        Ok(Self(Arc::new(inner)))
    }

    /// Where Pods find the node: gateway and name server.
    pub fn node(&self) -> Ipv4Addr {
        self.reservations().node()
    }

    /// The addresses of Pods.
    pub fn range(&self) -> Cidr {
        self.reservations().range()
    }

    /// Reserves an address for a Pod, until it is dismissed: the one it had, if given.
    pub fn reserve(&self, uid: &Uid, kept: Option<Ipv4Addr>) -> Result<Ipv4Addr, Error> {
        let mut reservations = self.reservations();
        match kept {
            Some(address) => reservations.keep(uid, address).map(|()| address).map_err(Error::Address),
            None => reservations.next(uid, Timestamp::now()).map_err(Error::Address),
        }
    }

    /// Connects a Pod's network namespace. Returns when the rules that know the Pod, and all policies that the API server
    /// has at this moment, are in force. If that cannot be, nothing is left of it but the address.
    pub async fn admit(&self, pod: &Pod, address: Ipv4Addr, namespace: OwnedFd) -> Result<(), Error> {
        let uid = roster::uid(pod)?;
        let attach =
            async { self.0.network.attach(uid.clone(), address, namespace).await.map_err(Error::network) };
        let admitted = tokio::try_join!(attach, self.readmit(pod, address)).map(drop);
        if admitted.is_err() {
            // What failed is told; what is left behind is told to nobody but the log.
            if let Err(error) = self.disconnect(&uid, address).await {
                tracing::warn!(%error, %uid, "a Pod that was not connected left something behind");
            }
        }
        admitted
    }

    /// Makes a Pod known whose link is there already, as [`Self::admit`] does.
    pub async fn readmit(&self, pod: &Pod, address: Ipv4Addr) -> Result<(), Error> {
        let (uid, pod) = (roster::uid(pod)?, Arc::new(pod.clone()));
        self.ask(|answer| Request::Admit { uid, pod, address, answer }).await
    }

    /// Takes a Pod's rules, its link and its address away. Does nothing for one that has none.
    pub async fn dismiss(&self, uid: &Uid) -> Result<(), Error> {
        let address = self.reservations().of(uid);
        let forgotten = self.ask(|answer| Request::Dismiss { uid: uid.clone(), answer }).await;
        // The link goes also if the rules stay: without it they are about nobody.
        self.0.network.detach(uid.clone(), address).await.map_err(Error::network)?;
        self.reservations().give_back(uid, Timestamp::now());
        forgotten
    }

    /// Removes the links of everybody but these.
    pub async fn sweep(&self, known: BTreeSet<Uid>) -> Result<(), Error> {
        self.0.network.sweep(known).await.map(drop).map_err(Error::network)
    }

    /// Everything in the kernel that is ours.
    pub async fn census(&self) -> Result<Census, Error> {
        self.0.network.census().await.map_err(Error::network)
    }

    /// Ends the work and leaves the kernel as it is: whoever is connected stays so, under the rules of this moment.
    pub async fn end(&self) {
        let mut tasks = std::mem::take(&mut *self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.shutdown().await;
    }

    /// Ends the work and removes everything from the kernel: nobody is connected any more.
    pub async fn clear(&self) -> Result<(), Error> {
        self.end().await;
        self.0.network.clear().await.map_err(Error::network)
    }

    async fn disconnect(&self, uid: &Uid, address: Ipv4Addr) -> Result<(), Error> {
        let forgotten = self.ask(|answer| Request::Dismiss { uid: uid.clone(), answer }).await;
        self.0.network.detach(uid.clone(), Some(address)).await.map_err(Error::network)?;
        forgotten
    }

    async fn ask(&self, request: impl FnOnce(keeper::Answer) -> Request) -> Result<(), Error> {
        let (answer, answered) = oneshot::channel();
        self.0.requests.send(request(answer)).await.map_err(|_| Error::Ended)?;
        answered.await.map_err(|_| Error::Ended)?
    }

    fn reservations(&self) -> MutexGuard<'_, Reservations> {
        self.0.reservations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes everything of a node that does not run.
pub async fn clear(identity: &Identity) -> Result<(), Error> {
    let Some(range) = identity.pods else { return Ok(()) };
    let network = Network::start(options(identity, Reservations::new(range).node()));
    network.map_err(Error::network)?.clear().await.map_err(Error::network)
}

fn options(identity: &Identity, node: Ipv4Addr) -> Options {
    Options { table: identity.table(), prefix: identity.links(), node }
}

/// Addresses of links that nobody knows any more are not given out at once: their connections may not be forgotten yet.
async fn rest_leftovers(network: &Network, reservations: &mut Reservations) -> Result<(), Error> {
    let census = network.census().await.map_err(Error::network)?;
    for address in census.links.into_iter().flat_map(|link| link.addresses) {
        reservations.rest(address, Timestamp::now());
    }
    Ok(())
}
