//! What kubelets and Prometheus ask of a router: is it alive, is it ready, how is it doing.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::router::Handle;

const MOST: usize = 64;
const HEADERS: Duration = Duration::from_secs(10);

/// Answers `/healthz`, `/readyz` and `/metrics` until it is stopped.
pub async fn serve_probes(listener: TcpListener, handle: Handle, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors: some will be closed.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        if connections.len() >= MOST {
            connections.join_next().await;
        }
        let handle = handle.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let answer = answer(request.uri().path(), &handle);
            async move { Ok::<_, Infallible>(answer) }
        });
        connections.spawn(async move {
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(HEADERS);
            // Whoever asked has left.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

fn answer(path: &str, handle: &Handle) -> Response<Full<Bytes>> {
    match path {
        "/healthz" => text(StatusCode::OK, "ok"),
        "/readyz" if handle.is_ready() => text(StatusCode::OK, "ok"),
        "/readyz" => {
            text(StatusCode::SERVICE_UNAVAILABLE, "not all Sandboxes have been seen yet, or it is stopping")
        }
        "/metrics" => {
            let mut answer = text(StatusCode::OK, handle.metrics().text());
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            answer
        }
        _ => text(StatusCode::NOT_FOUND, "there is /healthz, /readyz and /metrics"),
    }
}

fn text(status: StatusCode, words: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(words.into()));
    *answer.status_mut() = status;
    answer
}
