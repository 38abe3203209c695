//! Connections: TLS, HTTP/1.1 and HTTP/2, upgrades; bounded in number and in the time they may idle half-open.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Shared;
use super::handler::{self, Peer};
use super::identity::Identity;
use crate::security::certificates::user_of_certificate;

const MOST_CONNECTIONS: usize = 4096;
const HANDSHAKE: Duration = Duration::from_secs(10);
const HEADERS: Duration = Duration::from_secs(30);

/// How long requests that are being answered may take to end when the server stops.
pub(super) const GOODBYE: Duration = Duration::from_secs(5);

pub(super) async fn serve(
    shared: &Arc<Shared>,
    identity: &Identity,
    listener: TcpListener,
    stop: CancellationToken,
) {
    let (room, connections) = (Arc::new(Semaphore::new(MOST_CONNECTIONS)), TaskTracker::new());
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { break };
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    // Out of file descriptors: some will be closed.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = stop.cancelled() => break,
        };
        let (shared, acceptor, stop) = (Arc::clone(shared), identity.acceptor(), stop.clone());
        connections.spawn(async move {
            converse(shared, acceptor, stream, stop).await;
            drop(permit);
        });
    }
    drop(listener);
    shared.stop.cancel();
    connections.close();
    // Whoever is still at it after that is cut off when the runtime ends.
    let _ = tokio::time::timeout(GOODBYE, connections.wait()).await;
}

async fn converse(shared: Arc<Shared>, acceptor: TlsAcceptor, stream: TcpStream, stop: CancellationToken) {
    let _ = stream.set_nodelay(true);
    let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await else { return };
    let certificates = stream.get_ref().1.peer_certificates();
    let user = certificates.and_then(|chain| chain.first()).and_then(|first| user_of_certificate(first));
    let peer = Peer { user };
    let service = service_fn(move |request: Request<Incoming>| {
        let (shared, peer) = (Arc::clone(&shared), peer.clone());
        async move { Ok::<_, Infallible>(handler::handle(shared, peer, request.map(Body::new)).await) }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(250)
        .keep_alive_interval(Duration::from_secs(30));
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error, "a connection ended early");
    }
}
