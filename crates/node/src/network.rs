//! The network of Pods: addresses, links, names, Services and policies.
//!
//! One thread speaks with the kernel for all; another takes links away, which is slow. What is in the kernel follows from
//! the store alone: whoever starts with it anew replaces all rules, and [`Network::sweep`] removes the links of Pods that are
//! no more. IPv6 is off: Pods have no such address, and their links carry none.

mod connections;
pub mod dns;
mod kernel;
pub(crate) mod limits;
mod links;
mod namespaces;
mod netlink;
mod nftables;
mod sysctl;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::thread;

use asb_core::network::rules::RuleSet;
use asb_core::object::Uid;
use tokio::sync::{mpsc, oneshot};

pub use kernel::{Census, Kernel, NetworkError, Options, in_use};
pub use links::{Link, Uplink};
pub use namespaces::{ConnectError, NamespaceError, connect, connect_here, within};
pub use nftables::Listed;

/// How many requests may wait; more wait at the door.
const QUEUE: usize = 64;

type Job = Box<dyn FnOnce(&mut Kernel) + Send>;

/// The one who speaks with the kernel. Ends when it is dropped; what is in the kernel stays.
#[derive(Debug)]
pub struct Network {
    jobs: mpsc::Sender<Job>,
}

impl Network {
    /// Starts in the network namespace of the calling thread.
    pub fn start(options: Options) -> Result<Self, NetworkError> {
        let mut kernel = Kernel::open(options)?;
        let (jobs, mut waiting) = mpsc::channel::<Job>(QUEUE);
        let work = move || {
            while let Some(job) = waiting.blocking_recv() {
                job(&mut kernel);
            }
        };
        thread::Builder::new().name("network".to_owned()).spawn(work).map_err(NetworkError::Thread)?;
        Ok(Self { jobs })
    }

    /// Gives the host its address among Pods; returns the interfaces that rules must guard. See [`Kernel::prepare`].
    pub async fn prepare(&self) -> Result<Vec<Uplink>, NetworkError> {
        self.ask(Kernel::prepare).await?
    }

    /// Makes these the rules, at one instant.
    pub async fn apply(&self, rules: RuleSet) -> Result<(), NetworkError> {
        self.ask(move |kernel| kernel.apply(rules)).await?
    }

    /// Connects a Pod's network namespace. Nothing passes until rules know the Pod.
    pub async fn attach(&self, uid: Uid, address: Ipv4Addr, namespace: OwnedFd) -> Result<(), NetworkError> {
        self.ask(move |kernel| kernel.attach(&uid, address, &namespace)).await?
    }

    /// Forgets a Pod's connections and takes its link away, sooner or later. Does nothing if there is none.
    pub async fn detach(&self, uid: Uid, address: Option<Ipv4Addr>) -> Result<(), NetworkError> {
        self.ask(move |kernel| kernel.detach(&uid, address)).await?
    }

    /// Everything in the kernel that is ours.
    pub async fn census(&self) -> Result<Census, NetworkError> {
        self.ask(Kernel::census).await?
    }

    /// Removes what belongs to none of these Pods, and says what that was.
    pub async fn sweep(&self, known: BTreeSet<Uid>) -> Result<Vec<Link>, NetworkError> {
        self.ask(move |kernel| kernel.sweep(&known)).await?
    }

    /// Removes everything that is ours.
    pub async fn clear(&self) -> Result<(), NetworkError> {
        self.ask(Kernel::clear).await?
    }

    async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Kernel) -> T + Send + 'static,
    ) -> Result<T, NetworkError> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |kernel| drop(answer.send(work(kernel))));
        self.jobs.send(job).await.map_err(|_| NetworkError::Ended)?;
        answered.await.map_err(|_| NetworkError::Ended)
    }
}
