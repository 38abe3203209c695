//! Looks at objects, in the measures of controller-runtime.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::Histograms;
use crate::observer::CONTROLLERS;
use crate::queue::Next;

/// Seconds that a look takes: controller-runtime's, and a few below them, where our looks are.
const BUCKETS: [f64; 43] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6,
    0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0,
    20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
];

const RESULTS: [&str; 4] = ["success", "requeue", "requeue_after", "error"];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Look {
    controller: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Controller {
    controller: &'static str,
}

#[derive(Debug)]
pub(super) struct Looks {
    results: Family<Look, Counter>,
    errors: Family<Controller, Counter>,
    times: Histograms<Controller>,
}

impl Looks {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let (results, errors) = (Family::default(), Family::default());
        let times = Histograms::new_with_constructor(|| Histogram::new(BUCKETS));
        let help = "Looks at an object, by what came of them";
        registry.register("controller_runtime_reconcile", help, results.clone());
        let help = "Looks at an object that went wrong";
        registry.register("controller_runtime_reconcile_errors", help, errors.clone());
        let help = "How long a look at an object takes";
        registry.register("controller_runtime_reconcile_time_seconds", help, times.clone());
        Self { results, errors, times }.at_nought()
    }

    /// Says nought before anything has happened, so that the first time is seen as an increase.
    fn at_nought(self) -> Self {
        for controller in CONTROLLERS {
            for result in RESULTS {
                drop(self.results.get_or_create(&Look { controller, result }));
            }
            drop(self.errors.get_or_create(&Controller { controller }));
        }
        self
    }

    pub(super) fn note(&self, controller: &'static str, next: Next, took: Duration) {
        let [success, requeue, requeue_after, error] = RESULTS;
        let result = match next {
            Next::Settled => success,
            Next::Again => requeue,
            Next::After(_) => requeue_after,
            Next::Retry => error,
        };
        self.results.get_or_create(&Look { controller, result }).inc();
        if next == Next::Retry {
            self.errors.get_or_create(&Controller { controller }).inc();
        }
        self.times.get_or_create(&Controller { controller }).observe(took.as_secs_f64());
    }
}
