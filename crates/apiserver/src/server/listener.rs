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
use super::strangers::{Stranger, Strangers};
use crate::security::certificates::user_of_certificate;

/// Fewer where the process may not open as many files.
const MOST_CONNECTIONS: usize = 4096;

/// One of so many connections may be of somebody who has not said who they are.
const STRANGERS: usize = 8;

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
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let most = most_connections(&limits);
    let (room, connections) = (Arc::new(Semaphore::new(most)), TaskTracker::new());
    let strangers = Strangers::new(most / STRANGERS);
    loop {
        if room.available_permits() == 0 {
            strangers.close_oldest();
        }
        let permit = tokio::select! {
            permit = Arc::clone(&room).acquire_owned() => permit,
            () = stop.cancelled() => break,
        };
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
        let stranger = Arc::new(strangers.admit());
        connections.spawn(async move {
            let end = stranger.end.clone();
            end.run_until_cancelled(converse(shared, acceptor, stream, stranger, stop)).await;
            drop(permit);
        });
    }
    drop(listener);
    shared.stop.cancel();
    connections.close();
    // Whoever is still at it after that is cut off when the runtime ends.
    let _ = tokio::time::timeout(GOODBYE, connections.wait()).await;
}

async fn converse(
    shared: Arc<Shared>,
    acceptor: TlsAcceptor,
    stream: TcpStream,
    stranger: Arc<Stranger>,
    stop: CancellationToken,
) {
    let _ = stream.set_nodelay(true);
    let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await else { return };
    let certificates = stream.get_ref().1.peer_certificates();
    let user = certificates.and_then(|chain| chain.first()).and_then(|first| user_of_certificate(first));
    let peer = Peer { user, connection: Some(stranger) };
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

/// Half of the files that the process may open are for connections; the rest is for the server's own.
fn most_connections(limits: &str) -> usize {
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = files.and_then(|counts| counts.split_whitespace().next()).and_then(|count| count.parse().ok());
    soft.map_or(MOST_CONNECTIONS, |soft: usize| (soft / 2).clamp(STRANGERS, MOST_CONNECTIONS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_connections_than_files() {
        let limits =
            |soft: &str| format!("Limit  Soft  Hard  Units\nMax open files            {soft}  4096  files\n");
        assert_eq!(most_connections(&limits("1024")), 512);
        assert_eq!(most_connections(&limits("1048576")), MOST_CONNECTIONS);
        assert_eq!(most_connections(&limits("unlimited")), MOST_CONNECTIONS);
        assert_eq!(most_connections(""), MOST_CONNECTIONS);
    }
}
