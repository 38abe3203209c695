//! Doing something in another network namespace: on a thread that enters it, does it, and ends.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    #[error("cannot start a thread for a network namespace")]
    Thread(#[source] io::Error),
    #[error("cannot enter a network namespace")]
    Enter(#[source] io::Error),
    #[error("a thread in a network namespace broke")]
    Broken,
}

/// Blocks until it is done. The thread never comes back from there, so that no other work ends up in the namespace.
pub fn within<T: Send>(namespace: impl AsFd, work: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
    let namespace = namespace.as_fd();
    thread::scope(|scope| {
        let work = move || enter(namespace).map(|()| work());
        let worker = thread::Builder::new().name("netns".to_owned()).spawn_scoped(scope, work);
        worker.map_err(NamespaceError::Thread)?.join().unwrap_or(Err(NamespaceError::Broken))
    })
}

fn enter(namespace: BorrowedFd<'_>) -> Result<(), NamespaceError> {
    move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))
        .map_err(|error| NamespaceError::Enter(error.into()))
}

/// How long a port of a Pod may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error("nothing answers on port {port} of the Pod")]
    Refused {
        port: u16,
        #[source]
        reason: io::Error,
    },
}

/// A connection to a port inside the namespace, as seen from there: whoever listens on its loopback will do. Blocks.
pub fn connect(namespace: impl AsFd, port: u16) -> Result<TcpStream, ConnectError> {
    within(namespace, || connect_here(port))?
}

/// The same in the namespace of the calling thread.
pub fn connect_here(port: u16) -> Result<TcpStream, ConnectError> {
    let dial = |address: SocketAddr| TcpStream::connect_timeout(&address, PATIENCE);
    dial((Ipv4Addr::LOCALHOST, port).into())
        .or_else(|first| dial((Ipv6Addr::LOCALHOST, port).into()).map_err(|_| first))
        .map_err(|reason| ConnectError::Refused { port, reason })
}
