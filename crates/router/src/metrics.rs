//! What can be measured of the router from outside, under the names that upstream's dashboards know. Labels hold nothing that
//! clients make up: the namespace of a Sandbox that is not there is left out, and so are methods that nobody knows.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use http::{Method, StatusCode};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

const SECONDS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Request {
    method: &'static str,
    code: u16,
    sandbox_namespace: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Failure {
    sandbox_namespace: String,
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Decision {
    sandbox_namespace: String,
    decision: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Build {
    version: &'static str,
}

pub(crate) struct UnderWay(Gauge);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.dec();
    }
}

type Histograms = Family<Request, Histogram, fn() -> Histogram>;

pub struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    times: Histograms,
    under_way: Gauge,
    failures: Family<Failure, Counter>,
    pub(crate) redials: Counter,
    decisions: Family<Decision, Counter>,
    reloads: Family<Outcome, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("sandbox_router"),
            requests: Family::default(),
            times: Histograms::new_with_constructor(|| Histogram::new(SECONDS)),
            under_way: Gauge::default(),
            failures: Family::default(),
            redials: Counter::default(),
            decisions: Family::default(),
            reloads: Family::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("requests", "Requests, by what was answered", self.requests.clone());
        let help = "How long it took until an answer began";
        registry.register("request_duration_seconds", help, self.times.clone());
        registry.register("inflight_requests", "Requests that are being carried", self.under_way.clone());
        let help = "Requests that Sandboxes did not answer, by why";
        registry.register("upstream_errors", help, self.failures.clone());
        registry.register("upstream_retries", "How often connecting was tried again", self.redials.clone());
        registry.register("authz_decisions", "Who was let in, and who not", self.decisions.clone());
        registry.register("cert_reloads", "Certificates that were read anew", self.reloads.clone());
        let build: Family<Build, Gauge<u64, AtomicU64>> = Family::default();
        build.get_or_create(&Build { version: env!("CARGO_PKG_VERSION") }).set(1);
        registry.register("build_info", "Which router this is", build);
    }

    /// As Prometheus reads it.
    pub fn text(&self) -> String {
        let mut text = String::new();
        text::encode(&mut text, &self.registry).expect("a String takes everything");
        text
    }

    /// A request, for as long as this is held: clients may leave at any time.
    pub(crate) fn begin(&self) -> UnderWay {
        self.under_way.inc();
        UnderWay(self.under_way.clone())
    }

    pub(crate) fn answered(&self, method: &Method, status: StatusCode, namespace: &str, after: Duration) {
        let labels =
            Request { method: known(method), code: status.as_u16(), sandbox_namespace: namespace.to_owned() };
        self.requests.get_or_create(&labels).inc();
        self.times.get_or_create(&labels).observe(after.as_secs_f64());
    }

    pub(crate) fn failed(&self, namespace: &str, reason: &'static str) {
        self.failures.get_or_create(&Failure { sandbox_namespace: namespace.to_owned(), reason }).inc();
    }

    pub(crate) fn decided(&self, namespace: &str, is_let_in: bool) {
        let decision = if is_let_in { "allow" } else { "deny" };
        self.decisions.get_or_create(&Decision { sandbox_namespace: namespace.to_owned(), decision }).inc();
    }

    pub(crate) fn reloaded(&self, is_good: bool) {
        let outcome = if is_good { "success" } else { "error" };
        self.reloads.get_or_create(&Outcome { outcome }).inc();
    }
}

fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        Method::CONNECT => "CONNECT",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_contract() {
        let metrics = Metrics::default();
        metrics.answered(&Method::POST, StatusCode::OK, "team", Duration::from_millis(3));
        metrics.failed("team", "dial");
        metrics.decided("team", true);
        metrics.reloaded(false);
        let text = metrics.text();
        let lines = [
            r#"sandbox_router_requests_total{method="POST",code="200",sandbox_namespace="team"} 1"#,
            r#"sandbox_router_request_duration_seconds_count{method="POST",code="200",sandbox_namespace="team"} 1"#,
            "sandbox_router_inflight_requests 0",
            r#"sandbox_router_upstream_errors_total{sandbox_namespace="team",reason="dial"} 1"#,
            "sandbox_router_upstream_retries_total 0",
            r#"sandbox_router_authz_decisions_total{sandbox_namespace="team",decision="allow"} 1"#,
            r#"sandbox_router_cert_reloads_total{outcome="error"} 1"#,
        ];
        for line in lines {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn clients_do_not_invent_labels() {
        let method = Method::from_bytes(b"X1").expect("a method");
        assert_eq!(known(&method), "other");
    }
}
