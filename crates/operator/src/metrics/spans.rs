//! Spans, by what became of them on their way to a collector.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Fate {
    result: &'static str,
}

/// How many spans came how far. Shared by its clones.
#[derive(Clone, Debug)]
pub struct SpanCounts {
    family: Family<Fate, Counter>,
    /// A collector has taken them.
    pub sent: Counter,
    /// Too many were waiting.
    pub dropped: Counter,
    /// No collector took them.
    pub failed: Counter,
}

impl Default for SpanCounts {
    fn default() -> Self {
        let family = Family::<Fate, Counter>::default();
        let counter = |result| family.get_or_create_owned(&Fate { result });
        let (sent, dropped, failed) = (counter("sent"), counter("dropped"), counter("failed"));
        Self { family, sent, dropped, failed }
    }
}

impl SpanCounts {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Spans of traces, by what became of them";
        registry.register("agent_sandbox_trace_spans", help, self.family.clone());
    }
}
