//! How busy a queue is, in the measures that dashboards of Kubernetes' own controllers know.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

/// The shortest and the longest time worth telling apart, in seconds, and ten times as long from each to the next.
const SHORTEST: f64 = 1e-8;
const STEPS: usize = 12;

#[derive(Debug)]
pub(crate) struct Meter {
    /// Keys that came to wait. One that waits already does not come again.
    pub(crate) adds: Counter,
    /// Keys that are to come again because of how a look at them went.
    pub(crate) retries: Counter,
    /// Seconds from coming to wait until being looked at.
    pub(crate) waits: Histogram,
    /// Seconds of being looked at.
    pub(crate) looks: Histogram,
}

impl Default for Meter {
    fn default() -> Self {
        let buckets = || std::iter::successors(Some(SHORTEST), |bound| Some(bound * 10.0)).take(STEPS);
        Self {
            adds: Counter::default(),
            retries: Counter::default(),
            waits: Histogram::new(buckets()),
            looks: Histogram::new(buckets()),
        }
    }
}

/// What is being looked at just now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Load {
    pub(crate) workers: usize,
    /// Seconds of all looks together.
    pub(crate) total: f64,
    /// Seconds of the longest.
    pub(crate) longest: f64,
}
