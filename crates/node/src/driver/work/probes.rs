//! Probes of one kind, again and again as long as the container is to be asked.

use std::time::Duration;

use asb_core::pod::probe::{Outcome as Answer, ProbeKind, Record, Terms};
use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;

use super::Work;
use super::questions::{in_time, probe};
use crate::driver::outcome::{Outcome, Probed};

/// One attempt at a container that is probed.
pub(in crate::driver) struct Probing {
    pub(in crate::driver) container: String,
    pub(in crate::driver) attempt: u32,
    pub(in crate::driver) kind: ProbeKind,
    /// When the container started.
    pub(in crate::driver) since: Timestamp,
    /// What earlier probes said.
    pub(in crate::driver) record: Record,
}

impl Probing {
    /// Ends when the verdict stands, or nobody listens.
    pub(in crate::driver) async fn run(mut self, work: &Work, outcomes: &UnboundedSender<Outcome>) {
        let Ok(container) = work.container(&self.container) else { return };
        let Some(asked) = self.kind.of(container) else { return };
        let terms = Terms::read(asked);
        while let Some(due) = self.record.due(self.kind, &terms, self.since, Timestamp::now()) {
            let wait = Duration::try_from(due.duration_since(Timestamp::now())).unwrap_or_default();
            tokio::time::sleep(wait).await;
            let began = Timestamp::now();
            let result = in_time(terms.timeout, probe(work, container, self.attempt, asked)).await;
            let answer = if result.is_ok() { Answer::Success } else { Answer::Failure };
            self.record = self.record.noting(self.kind, &terms, answer, began);
            let probed = Probed {
                container: self.container.clone(),
                attempt: self.attempt,
                kind: self.kind,
                began,
                answer,
                output: result.err().unwrap_or_default(),
            };
            if outcomes.send(Outcome::Probed(probed)).is_err() {
                return;
            }
        }
    }
}
