//! What can be measured from outside, in the text format of Prometheus. Names are those that dashboards of
//! controller-runtime know. Whoever has something to count registers it in [`Metrics::new`] and keeps it here.

mod process;
mod state;

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::observer::Observer;
use crate::queue::Next;
use process::Process;
use state::{Build, State};

/// The content type of [`Metrics::text`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Seconds that a look at one object takes, from a cached nothing to several writes that wait for their turn.
const BUCKETS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Look {
    controller: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Controller {
    controller: &'static str,
}

/// Everything that is measured.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    looks: Family<Look, Counter>,
    errors: Family<Controller, Counter>,
    times: Family<Controller, Histogram, fn() -> Histogram>,
}

impl Metrics {
    pub(crate) fn new(observer: Observer) -> Self {
        let (looks, errors) = (Family::default(), Family::default());
        let times = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
        let mut registry = Registry::default();
        let help = "Looks at an object, by what came of them";
        registry.register("controller_runtime_reconcile", help, looks.clone());
        let help = "Looks at an object that went wrong";
        registry.register("controller_runtime_reconcile_errors", help, errors.clone());
        let help = "How long a look at an object takes";
        registry.register("controller_runtime_reconcile_time_seconds", help, times.clone());
        registry.register_collector(Box::new(State(observer)));
        registry.register_collector(Box::new(Build));
        registry.register_collector(Box::new(Process));
        Self { registry, looks, errors, times }
    }

    /// Takes note of a look at an object.
    pub(crate) fn looked(&self, controller: &'static str, next: Next, took: Duration) {
        let result = match next {
            Next::Settled => "success",
            Next::Again => "requeue",
            Next::After(_) => "requeue_after",
            Next::Retry => "error",
        };
        self.looks.get_or_create(&Look { controller, result }).inc();
        if next == Next::Retry {
            self.errors.get_or_create(&Controller { controller }).inc();
        }
        self.times.get_or_create(&Controller { controller }).observe(took.as_secs_f64());
    }

    /// Everything, as of now.
    pub fn text(&self) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)
            .expect("writing to a string cannot fail");
        text
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::caches::Caches;

    fn lines(text: &str, part: &str) -> Vec<String> {
        let mut lines: Vec<_> = text.lines().filter(|line| line.contains(part)).map(str::to_owned).collect();
        lines.sort();
        lines
    }

    #[test]
    fn dashboards_find_the_names_that_they_know() {
        let observer = Observer::new(&Arc::new(Caches::default()));
        let metrics = Metrics::new(observer.clone());
        observer.set_leading(true);
        metrics.looked("sandbox", Next::Settled, Duration::from_millis(3));
        metrics.looked("sandbox", Next::Retry, Duration::from_millis(3));
        let text = metrics.text();
        insta::assert_snapshot!(
            [
                lines(&text, "workqueue_depth"),
                lines(&text, "master_status"),
                lines(&text, "reconcile_total"),
                lines(&text, "reconcile_errors_total"),
                lines(&text, "reconcile_time_seconds_count"),
            ]
            .concat()
            .join("\n")
        );
    }

    #[test]
    fn the_program_and_its_process_are_described() {
        let text = Metrics::new(Observer::new(&Arc::new(Caches::default()))).text();
        for name in
            ["agent_sandbox_build_info{", "process_start_time_seconds ", "process_resident_memory_bytes "]
        {
            assert_eq!(text.lines().filter(|line| line.starts_with(name)).count(), 1, "{name} in {text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }
}
