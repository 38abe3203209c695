//! Requests to the API server, in the measures of Kubernetes' own clients.

use std::sync::Arc;

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tokio::time::Instant;
use tower::service_fn;

use super::Histograms;

/// Seconds until an answer begins.
const BUCKETS: [f64; 12] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];

/// Instead of a code, where nobody answered.
const NO_ANSWER: &str = "<error>";

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Answered {
    code: String,
    method: String,
    host: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Asked {
    verb: String,
    host: Arc<str>,
}

#[derive(Clone, Debug)]
pub(crate) struct Requests {
    answers: Family<Answered, Counter>,
    times: Histograms<Asked>,
}

impl Requests {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let requests = Self {
            answers: Family::default(),
            times: Histograms::new_with_constructor(|| Histogram::new(BUCKETS)),
        };
        let help = "Requests to the API server, by what it answered";
        registry.register("rest_client_requests", help, requests.answers.clone());
        let help = "How long the API server takes to answer; watches are left out";
        registry.register("rest_client_request_duration_seconds", help, requests.times.clone());
        requests
    }

    /// A client that goes through `client`, whose requests are counted here.
    pub(crate) fn over(&self, client: &Client, host: &str) -> Client {
        let (requests, inner, host) = (self.clone(), client.clone(), Arc::<str>::from(host));
        let service = service_fn(move |request: Request<Body>| {
            let (requests, inner, host) = (requests.clone(), inner.clone(), Arc::clone(&host));
            async move {
                let (asked, started) = (Question::read(&request), Instant::now());
                let answer = inner.send(request).await;
                requests.note(asked, answer.as_ref().ok(), host, started);
                answer
            }
        });
        Client::new(service, client.default_namespace())
    }

    fn note(&self, asked: Question, answer: Option<&Response<Body>>, host: Arc<str>, started: Instant) {
        let code = answer.map_or_else(|| NO_ANSWER.to_owned(), |answer| answer.status().as_str().to_owned());
        if !asked.is_watch {
            let labels = Asked { verb: asked.method.clone(), host: Arc::clone(&host) };
            self.times.get_or_create(&labels).observe(started.elapsed().as_secs_f64());
        }
        self.answers.get_or_create(&Answered { code, method: asked.method, host }).inc();
    }
}

/// What is remembered of a request until its answer comes.
struct Question {
    method: String,
    is_watch: bool,
}

impl Question {
    fn read(request: &Request<Body>) -> Self {
        let query = request.uri().query().unwrap_or_default();
        let is_watch = query.split('&').any(|part| matches!(part, "watch=true" | "watch=1"));
        Self { method: request.method().as_str().to_owned(), is_watch }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(client: &Client, method: &str, uri: &str) {
        let request = Request::builder().method(method).uri(uri).body(Body::empty()).unwrap();
        let _ = client.send(request).await;
    }

    #[tokio::test]
    async fn answers_are_counted_by_code_and_timed_unless_they_have_no_end() {
        let mut registry = Registry::default();
        let requests = Requests::register(&mut registry);
        let server = service_fn(|request: Request<Body>| async move {
            match request.uri().path() {
                "/broken" => Err(std::io::Error::other("broken")),
                path => {
                    let code = if path == "/taken" { 409 } else { 200 };
                    Ok(Response::builder().status(code).body(Body::empty()).unwrap())
                }
            }
        });
        let client = requests.over(&Client::new(server, "default"), "kube:6443");
        for (method, uri) in [("POST", "/taken"), ("GET", "/pods?watch=true&x=1"), ("GET", "/broken")] {
            ask(&client, method, uri).await;
        }
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        let mut lines: Vec<_> =
            text.lines().filter(|line| line.contains("_total") || line.contains("_count")).collect();
        lines.sort_unstable();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
