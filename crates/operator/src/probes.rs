//! What kubelets and Prometheus ask: is it alive, is it ready, how is it doing.

use std::sync::Arc;
use std::time::Duration;

use http::header::ACCEPT;
use http::{Method, Request, StatusCode};
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::listener::{reply, serve, text};
use crate::metrics::{Format, Metrics};
use crate::observer::Observer;

/// For how long the webhook serves before it alone makes us ready.
const STUCK: Duration = Duration::from_secs(20);

/// How ready the webhook is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conversion {
    /// Somebody else's business.
    Elsewhere,
    NoCertificate,
    ServingFor(Duration),
}

/// Why we are not ready.
///
/// Objects that were stored as v1alpha1 are listed only after the webhook converted them, and its Service leads only to
/// operators that are ready: one that serves must not wait for its caches for ever.
fn unready(is_synced: bool, conversion: Conversion) -> Option<&'static str> {
    match conversion {
        Conversion::NoCertificate => Some("the webhook has no certificate yet\n"),
        Conversion::ServingFor(time) if time >= STUCK => None,
        _ if is_synced => None,
        _ => Some("not everything there is has been seen yet\n"),
    }
}

/// Answers `/healthz` and `/readyz` until it is stopped. `webhook` says whether the webhook serves, if there is one.
pub async fn serve_health(
    listener: TcpListener,
    observer: Observer,
    webhook: Option<impl Fn() -> bool + Send + Sync + 'static>,
    stop: CancellationToken,
) {
    let opened = Instant::now();
    let webhook = Arc::new(webhook);
    let handler = move |request: Request<_>| {
        let conversion = match webhook.as_ref() {
            None => Conversion::Elsewhere,
            Some(is_serving) if is_serving() => Conversion::ServingFor(opened.elapsed()),
            Some(_) => Conversion::NoCertificate,
        };
        let answer = health(request.method(), request.uri().path(), observer.is_synced(), conversion);
        std::future::ready(text(answer.0, answer.1))
    };
    serve(listener, None, handler, stop).await;
}

fn health(
    method: &Method,
    path: &str,
    is_synced: bool,
    conversion: Conversion,
) -> (StatusCode, &'static str) {
    if ![Method::GET, Method::HEAD].contains(method) {
        return (StatusCode::METHOD_NOT_ALLOWED, "only to be read\n");
    }
    match path.trim_end_matches('/') {
        "/healthz" | "/livez" => (StatusCode::OK, "ok"),
        "/readyz" => match unready(is_synced, conversion) {
            None => (StatusCode::OK, "ok"),
            Some(why) => (StatusCode::SERVICE_UNAVAILABLE, why),
        },
        _ => (StatusCode::NOT_FOUND, "there are /healthz and /readyz\n"),
    }
}

/// Answers `/metrics` until it is stopped.
pub async fn serve_metrics(listener: TcpListener, metrics: Arc<Metrics>, stop: CancellationToken) {
    let handler = move |request: Request<_>| {
        let answer = match (request.method(), request.uri().path()) {
            (&Method::GET, "/metrics") => {
                let format = Format::accepted(&accepted(&request));
                reply(StatusCode::OK, format.content_type(), metrics.in_format(format).into_bytes())
            }
            (_, "/metrics") => text(StatusCode::METHOD_NOT_ALLOWED, "only to be read\n"),
            _ => text(StatusCode::NOT_FOUND, "there is /metrics\n"),
        };
        std::future::ready(answer)
    };
    serve(listener, None, handler, stop).await;
}

/// What the client accepts, which it may say in several headers.
fn accepted<B>(request: &Request<B>) -> String {
    let headers = request.headers().get_all(ACCEPT).into_iter();
    headers.filter_map(|header| header.to_str().ok()).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_headers_are_one() {
        let request =
            Request::builder().header(ACCEPT, "text/html").header(ACCEPT, "*/*;q=0.1").body(()).unwrap();
        assert_eq!(accepted(&request), "text/html,*/*;q=0.1");
        assert_eq!(accepted(&Request::new(())), "");
    }

    fn ask(path: &str, is_synced: bool, conversion: Conversion) -> u16 {
        health(&Method::GET, path, is_synced, conversion).0.as_u16()
    }

    #[test]
    fn an_operator_is_ready_when_it_has_seen_everything() {
        assert_eq!(ask("/readyz", false, Conversion::Elsewhere), 503);
        assert_eq!(ask("/readyz", true, Conversion::Elsewhere), 200);
        assert_eq!(ask("/healthz", false, Conversion::Elsewhere), 200);
    }

    #[test]
    fn a_webhook_without_a_certificate_is_not_ready() {
        assert_eq!(ask("/readyz", true, Conversion::NoCertificate), 503);
    }

    /// What it waits for may wait for it.
    #[test]
    fn a_webhook_that_serves_becomes_ready_before_everything_was_seen() {
        assert_eq!(ask("/readyz", false, Conversion::ServingFor(Duration::from_secs(1))), 503);
        assert_eq!(ask("/readyz", false, Conversion::ServingFor(STUCK)), 200);
    }

    #[test]
    fn other_paths_and_methods_are_refused() {
        assert_eq!(ask("/", true, Conversion::Elsewhere), 404);
        assert_eq!(health(&Method::POST, "/healthz", true, Conversion::Elsewhere).0.as_u16(), 405);
    }
}
