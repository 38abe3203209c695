//! The name server of Pods: names of the cluster from memory, all others from the host's own servers.
//!
//! What a Pod can make it hold is bounded: so many questions at once, of one Pod and of all, each of a bounded size and for
//! a bounded time. Questions beyond that are not answered; whoever asks tries again.

mod answer;
mod forward;
mod serve;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use asb_core::network::names::Names;
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::limits::Limits;
pub use answer::{Transport, reply};

/// How many questions are answered at once, of all Pods and of each.
const ALL: usize = 512;
const EACH: usize = 64;

/// What is known at a moment.
#[derive(Clone, Debug, Default)]
pub struct View {
    pub names: Arc<Names>,
    /// Who is asked about the world outside.
    pub upstreams: Vec<SocketAddr>,
    pub outside: Outside,
}

/// Which names of others are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outside {
    #[default]
    Everything,
    /// None that mean something to the host's surroundings only.
    Public,
    Nothing,
}

/// Runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    /// Ends them when it goes.
    _tasks: JoinSet<()>,
}

impl Server {
    /// Answers on one port of an address, by UDP and TCP.
    pub async fn start(address: SocketAddr, view: watch::Receiver<View>) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let socket = Arc::new(UdpSocket::bind(address).await?);
        let limits = Limits::new(ALL, EACH);
        let mut tasks = JoinSet::new();
        tasks.spawn(serve::datagrams(socket, address, view.clone(), Arc::clone(&limits)));
        tasks.spawn(serve::connections(listener, address, view, limits));
        Ok(Self { address, _tasks: tasks })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
