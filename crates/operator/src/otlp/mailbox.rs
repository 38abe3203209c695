//! Where spans are handed in when they end. Never waits.

use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use tokio::sync::mpsc;

use crate::metrics::SpanCounts;

#[derive(Debug)]
pub(super) struct Mailbox {
    queue: mpsc::Sender<SpanData>,
    counts: SpanCounts,
}

impl Mailbox {
    pub(super) fn new(queue: mpsc::Sender<SpanData>, counts: SpanCounts) -> Self {
        Self { queue, counts }
    }
}

impl SpanProcessor for Mailbox {
    fn on_start(&self, _span: &mut Span, _context: &Context) {}

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.queue.try_send(span).is_err() {
            self.counts.dropped.inc();
        }
    }

    /// What waits is delivered by a task of its own, which is asked to end by whoever owns it.
    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}
