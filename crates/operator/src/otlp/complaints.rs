//! What is logged about spans that do not arrive: a line now and then, however many there are.

use std::time::Duration;

use tokio::time::Instant;

use crate::metrics::SpanCounts;

/// How long one complaint stands for all that follow.
const SILENCE: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub(super) struct Complaints {
    last: Option<Instant>,
    is_failing: bool,
    /// Of those that were dropped so far, how many were complained of.
    dropped: u64,
}

impl Complaints {
    pub(super) fn failed(&mut self, problem: &str, counts: &SpanCounts) {
        self.is_failing = true;
        if self.is_due() {
            let (failed, dropped) = (counts.failed.get(), counts.dropped.get());
            self.dropped = dropped;
            tracing::warn!(error = problem, failed, dropped, "cannot deliver spans; these are lost");
        }
    }

    pub(super) fn delivered(&mut self, counts: &SpanCounts) {
        if std::mem::take(&mut self.is_failing) {
            self.last = None;
            tracing::info!("spans are delivered again");
        }
        let dropped = counts.dropped.get();
        if dropped > self.dropped && self.is_due() {
            self.dropped = dropped;
            tracing::warn!(dropped, "there are more spans than the collector takes; some were dropped");
        }
    }

    fn is_due(&mut self) -> bool {
        let is_due = self.last.is_none_or(|last| last.elapsed() >= SILENCE);
        if is_due {
            self.last = Some(Instant::now());
        }
        is_due
    }
}
