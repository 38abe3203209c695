//! What can be measured from outside. Names are those that dashboards of upstream and of controller-runtime know; ours are
//! beside them. Whoever has something to count registers it in [`Metrics::new`] and keeps it here.

mod build;
mod claims;
mod counts;
mod format;
mod looks;
mod process;
mod queues;
mod requests;
mod sandboxes;
mod spans;

use std::time::Duration;

use jiff::SignedDuration;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::observer::Observer;
use crate::queue::Next;
use crate::settings::Workers;
pub use build::Build;
use claims::Claims;
use counts::Counts;
pub(crate) use format::Format;
use looks::Looks;
use process::Process;
use queues::Queues;
use requests::Requests;
use sandboxes::Sandboxes;
pub use spans::SpanCounts;

/// Everything that is measured.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    looks: Looks,
    pub(crate) requests: Requests,
    pub(crate) claims: Claims,
    pub(crate) sandboxes: Sandboxes,
}

impl Metrics {
    pub(crate) fn new(observer: Observer, workers: Workers, spans: Option<&SpanCounts>) -> Self {
        let mut registry = Registry::default();
        let mut metrics = Self {
            looks: Looks::register(&mut registry),
            requests: Requests::register(&mut registry),
            claims: Claims::register(&mut registry),
            sandboxes: Sandboxes::register(&mut registry),
            registry,
        };
        if let Some(spans) = spans {
            spans.register(&mut metrics.registry);
        }
        metrics.collecting(observer, workers)
    }

    /// Adds what is computed at the moment somebody asks.
    fn collecting(mut self, observer: Observer, workers: Workers) -> Self {
        let registry = &mut self.registry;
        registry.register_collector(Box::new(Counts(observer.clone())));
        registry.register_collector(Box::new(Queues { observer, workers }));
        registry.register_collector(Box::new(Build::of_this_program()));
        registry.register_collector(Box::new(Process));
        self
    }

    /// Takes note of a look at an object.
    pub(crate) fn looked(&self, controller: &'static str, next: Next, took: Duration) {
        self.looks.note(controller, next, took);
    }

    /// Everything, as of now, in the text format of Prometheus.
    pub fn text(&self) -> String {
        self.in_format(Format::Plain)
    }

    pub(crate) fn in_format(&self, format: Format) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)
            .expect("writing to a string cannot fail");
        match format {
            Format::OpenMetrics => text,
            Format::Plain => format::plain(&text),
        }
    }
}

/// A histogram for each set of labels.
type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// Whole milliseconds, as upstream counts them.
fn milliseconds(took: SignedDuration) -> f64 {
    u32::try_from(took.as_millis()).map_or(f64::from(u32::MAX), f64::from)
}

#[cfg(test)]
mod tests;
