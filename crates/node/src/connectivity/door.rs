//! The way from Pods to the API server, which usually listens where they cannot reach it: bytes are carried from a port of
//! the node's address among Pods. Rules decide who gets there, and the API server whom it listens to.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Error;
use crate::network::limits::Limits;

/// How many connections there may be at once, of all Pods and of each.
const ALL: usize = 512;
const EACH: usize = 32;
/// How long the API server may take to take a connection.
const PATIENCE: Duration = Duration::from_secs(10);
/// After an error of the socket itself, so that a broken one does not spin.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a Pod may be silent before it is asked whether it is there.
const SILENCE: Duration = Duration::from_mins(1);

pub(super) struct Door {
    /// Where Pods reach the API server.
    pub(super) address: SocketAddrV4,
    listener: Option<TcpListener>,
    api: SocketAddr,
}

impl Door {
    pub(super) async fn open(node: Ipv4Addr, api: SocketAddr) -> Result<Self, Error> {
        let address = match api.ip() {
            IpAddr::V4(own) if !own.is_loopback() && !own.is_unspecified() => {
                return Ok(Self { address: SocketAddrV4::new(own, api.port()), listener: None, api });
            }
            _ => SocketAddrV4::new(node, api.port()),
        };
        let listener = if api.ip().is_unspecified() { None } else { Some(bind(address).await?) };
        Ok(Self { address, listener, api })
    }

    /// Carries until it is dropped.
    pub(super) async fn carry(self) {
        let Some(listener) = self.listener else { return };
        let (limits, api) = (Limits::new(ALL, EACH), self.api);
        let mut carried = JoinSet::new();
        loop {
            while carried.try_join_next().is_some() {}
            let Ok((stream, client)) = listener.accept().await else {
                sleep(PAUSE).await;
                continue;
            };
            if let Some(permit) = limits.admit(client.ip()) {
                carried.spawn(async move {
                    pass(stream, api).await;
                    drop(permit);
                });
            }
        }
    }
}

async fn bind(address: SocketAddrV4) -> Result<TcpListener, Error> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| Error::Door(address, Arc::new(error)))
}

/// A connection that breaks is the business of those at its ends.
async fn pass(mut pod: TcpStream, api: SocketAddr) {
    let Ok(Ok(mut server)) = timeout(PATIENCE, TcpStream::connect(api)).await else { return };
    // Pods are taken away without a word.
    let _ = sockopt::set_socket_keepalive(&pod, true);
    let _ = sockopt::set_tcp_keepidle(&pod, SILENCE);
    let _ = (pod.set_nodelay(true), server.set_nodelay(true));
    let _ = copy_bidirectional(&mut pod, &mut server).await;
}
