//! Connections to the router: TLS or not, HTTP/1.1 and HTTP/2, bounded in number and in the time they may take to say what
//! they want.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::alive;
use crate::authorization::Caller;
use crate::entrance::{Entrance, Peer};
use crate::limits::Client;
use crate::linger::Lingering;
use crate::tls::Shown;
use crate::tunnel::Tunnel;

const HANDSHAKE: Duration = Duration::from_secs(10);
const STREAMS: u32 = 250;
/// More than anybody's headers take; it is what a stranger can make the router keep.
const HEAD: usize = 64 << 10;
const PING: Duration = Duration::from_secs(30);

/// Where connections come in, and what is known of all of them.
pub(crate) struct Door {
    pub(crate) listener: TcpListener,
    pub(crate) tls: Option<Arc<Shown>>,
    pub(crate) origin: Origin,
}

/// What is known of those who come in by a door.
#[derive(Clone)]
pub(crate) enum Origin {
    Known(Caller),
    /// To be found out for each.
    Tunnel(Arc<Tunnel>),
}

impl Origin {
    async fn caller(&self, from: IpAddr) -> Caller {
        match self {
            Self::Known(caller) => caller.clone(),
            Self::Tunnel(tunnel) => tunnel.caller(from).await,
        }
    }
}

/// Accepts until the router stops; those who are at it may end.
pub(crate) async fn serve(door: Door, entrance: Arc<Entrance>, room: Arc<Semaphore>) {
    let (connections, stop) = (TaskTracker::new(), &entrance.stop);
    if let Err(error) = alive::watch(&door.listener) {
        tracing::warn!(%error, "clients that vanish will not be noticed");
    }
    while let Some(Ok(permit)) = stop.run_until_cancelled(Arc::clone(&room).acquire_owned()).await {
        let Some(accepted) = stop.run_until_cancelled(door.listener.accept()).await else { break };
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                // Out of file descriptors: some will be closed.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let from = from.ip().to_canonical();
        let Some(held) = entrance.connections.hold(Client::at(from)) else {
            tracing::debug!(%from, "a client has all the connections that it may have: one is closed");
            continue;
        };
        let over = entrance.over.clone();
        let (entrance, tls, origin) = (Arc::clone(&entrance), door.tls.clone(), door.origin.clone());
        connections.spawn(over.run_until_cancelled_owned(async move {
            let caller = origin.caller(from).await;
            greet(stream, from, tls, caller, entrance).await;
            drop((permit, held));
        }));
    }
    drop(door.listener);
    connections.close();
    connections.wait().await;
}

async fn greet(
    stream: TcpStream,
    from: IpAddr,
    tls: Option<Arc<Shown>>,
    caller: Caller,
    entrance: Arc<Entrance>,
) {
    let _ = stream.set_nodelay(true);
    let peer = Peer { address: Some(from), is_secure: tls.is_some(), ..Peer::of(caller) };
    match tls {
        None => converse(stream, peer, entrance).await,
        Some(tls) => {
            let handshake = tokio::time::timeout(HANDSHAKE, tls.acceptor().accept(stream)).await;
            if let Ok(Ok(stream)) = handshake {
                converse(stream, peer, entrance).await;
            }
        }
    }
}

/// Serves one connection, wherever it comes from.
pub(crate) async fn converse<S>(stream: S, peer: Peer, entrance: Arc<Entrance>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (stop, conversation) = (entrance.stop.clone(), peer.conversation.clone());
    let (hello, idle) = (entrance.settings.hello, entrance.settings.idle);
    let stream = TokioIo::new(Lingering::new(stream, peer.handed_over.clone()));
    let service = service_fn(move |request: Request<Incoming>| {
        let (entrance, peer) = (Arc::clone(&entrance), peer.clone());
        async move { Ok::<_, Infallible>(entrance.serve(&peer, request).await) }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(hello).max_buf_size(HEAD);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(STREAMS).keep_alive_interval(PING);
    let connection = builder.serve_connection_with_upgrades(stream, service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = conversation.fall_silent(hello, idle) => {
            connection.as_mut().graceful_shutdown();
            // Whoever does not say goodbye either is left.
            tokio::time::timeout(hello, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error, "a connection ended early");
    }
}
