//! A small HTTP server, with or without TLS: bounded in connections and in the time that they may idle half-open.
//! What is answered is the handler's business.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

const MOST_CONNECTIONS: usize = 512;
const HANDSHAKE: Duration = Duration::from_secs(10);
const HEADERS: Duration = Duration::from_secs(30);
/// How long an answer may take to end when the server stops.
const GOODBYE: Duration = Duration::from_secs(5);

/// Answers until it is stopped. Its connections end with it.
pub(crate) async fn serve<H, F>(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    handler: H,
    stop: CancellationToken,
) where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let (room, mut connections) = (Arc::new(Semaphore::new(MOST_CONNECTIONS)), JoinSet::new());
    loop {
        let arrived = async {
            let permit = Arc::clone(&room).acquire_owned().await;
            (listener.accept().await, permit)
        };
        let (accepted, permit) = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            arrived = arrived => arrived,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors: some will be closed.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let talk = accept(stream, tls.clone(), handler.clone(), stop.clone());
        connections.spawn(async move {
            talk.await;
            drop(permit);
        });
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    // Whoever is still at it after that is cut off.
    let _ = tokio::time::timeout(GOODBYE, ended).await;
}

async fn accept<H, F>(stream: TcpStream, tls: Option<TlsAcceptor>, handler: H, stop: CancellationToken)
where
    H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let _ = stream.set_nodelay(true);
    let Some(tls) = tls else { return converse(TokioIo::new(stream), handler, stop).await };
    if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await {
        converse(TokioIo::new(stream), handler, stop).await;
    }
}

async fn converse<S, H, F>(stream: S, handler: H, stop: CancellationToken)
where
    S: Read + Write + Unpin + Send + 'static,
    H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let service = service_fn(move |request| {
        let answer = handler(request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(250)
        .keep_alive_interval(Duration::from_secs(30));
    let connection = builder.serve_connection(stream, service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        biased;
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

pub(crate) fn text(status: StatusCode, body: &str) -> Response<Full<Bytes>> {
    reply(status, "text/plain; charset=utf-8", body.to_owned().into_bytes())
}

pub(crate) fn reply(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
