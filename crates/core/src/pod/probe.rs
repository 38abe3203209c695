//! Probes as decisions: when the next one is due, and what the results so far amount to. Leaves asking the container to
//! `node`.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Probe};
use serde::{Deserialize, Serialize};

use super::clock;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProbeKind {
    Startup,
    Readiness,
    Liveness,
}

impl ProbeKind {
    pub const ALL: [Self; 3] = [Self::Startup, Self::Readiness, Self::Liveness];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Readiness => "Readiness",
            Self::Liveness => "Liveness",
        }
    }

    pub fn of(self, container: &Container) -> Option<&Probe> {
        match self {
            Self::Startup => container.startup_probe.as_ref(),
            Self::Readiness => container.readiness_probe.as_ref(),
            Self::Liveness => container.liveness_probe.as_ref(),
        }
    }
}

/// What a single probe said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    Success,
    Failure,
}

/// What the probes of one kind amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Nothing is known yet: not started, not ready, and alive.
    Pending,
    Passing,
    Failing,
}

/// The probes of one kind in one attempt of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    pub verdict: Verdict,
    /// The last result and how many times in a row it came.
    pub run: Option<(Outcome, u32)>,
    /// When the last probe began.
    pub probed: Option<Timestamp>,
}

impl Default for Record {
    fn default() -> Self {
        Self { verdict: Verdict::Pending, run: None, probed: None }
    }
}

/// How often and how patiently to probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    pub initial_delay: Duration,
    pub period: Duration,
    pub timeout: Duration,
    pub successes: u32,
    pub failures: u32,
}

impl Terms {
    /// What a probe says, with Kubernetes' defaults for what it does not.
    pub fn read(probe: &Probe) -> Self {
        let seconds = |count: Option<i32>, default: i32, least: i32| {
            clock::seconds(count.filter(|count| *count >= least).unwrap_or(default).into())
        };
        let times = |count: Option<i32>, default: u32| {
            count.and_then(|count| count.try_into().ok()).filter(|count| *count > 0).unwrap_or(default)
        };
        Self {
            initial_delay: seconds(probe.initial_delay_seconds, 0, 0),
            period: seconds(probe.period_seconds, 10, 1),
            timeout: seconds(probe.timeout_seconds, 1, 1),
            successes: times(probe.success_threshold, 1),
            failures: times(probe.failure_threshold, 3),
        }
    }

    fn threshold(&self, outcome: Outcome) -> u32 {
        match outcome {
            Outcome::Success => self.successes,
            Outcome::Failure => self.failures,
        }
    }
}

impl Record {
    /// When to probe next, which may have passed; nothing once the verdict stands until the container is restarted.
    pub fn due(
        &self,
        kind: ProbeKind,
        terms: &Terms,
        started: Timestamp,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let next = match self.probed {
            None => clock::remaining(started, terms.initial_delay, now),
            Some(probed) => clock::remaining(probed, terms.period, now),
        };
        (!self.stands(kind)).then_some(next.unwrap_or(now))
    }

    /// Whether the verdict is final: a failure of these restarts the container, and a start happens once.
    fn stands(&self, kind: ProbeKind) -> bool {
        match kind {
            ProbeKind::Startup => self.verdict != Verdict::Pending,
            ProbeKind::Liveness => self.verdict == Verdict::Failing,
            ProbeKind::Readiness => false,
        }
    }

    /// The record after one more probe, which began at `probed`.
    #[must_use]
    pub fn noting(self, kind: ProbeKind, terms: &Terms, outcome: Outcome, probed: Timestamp) -> Self {
        let times = match self.run {
            Some((last, times)) if last == outcome => times.saturating_add(1),
            _ => 1,
        };
        let counts = times >= terms.threshold(outcome) && !self.stands(kind);
        let verdict = match outcome {
            _ if !counts => self.verdict,
            Outcome::Success => Verdict::Passing,
            Outcome::Failure => Verdict::Failing,
        };
        Self { verdict, run: Some((outcome, times)), probed: Some(probed) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn terms(value: serde_json::Value) -> Terms {
        Terms::read(&serde_json::from_value(value).unwrap())
    }

    fn after(kind: ProbeKind, terms: &Terms, outcomes: &[Outcome]) -> Record {
        let noting = |record: Record, outcome: &Outcome| record.noting(kind, terms, *outcome, at(0));
        outcomes.iter().fold(Record::default(), noting)
    }

    use Outcome::{Failure, Success};

    #[test]
    fn defaults_are_those_of_kubernetes() {
        let terms = terms(json!({}));
        assert_eq!((terms.period.as_secs(), terms.timeout.as_secs()), (10, 1));
        assert_eq!((terms.successes, terms.failures, terms.initial_delay.as_secs()), (1, 3, 0));
    }

    #[test]
    fn the_first_probe_waits_for_its_delay_and_others_for_the_period() {
        let terms = terms(json!({"initialDelaySeconds": 5, "periodSeconds": 2}));
        let due = |record: Record, now| record.due(ProbeKind::Readiness, &terms, at(100), at(now));
        assert_eq!(due(Record::default(), 101), Some(at(105)));
        assert_eq!(due(Record::default(), 107), Some(at(107)));
        let probed = Record { probed: Some(at(110)), ..Record::default() };
        assert_eq!(due(probed, 111), Some(at(112)));
        assert_eq!(due(probed, 90), Some(at(90)), "the clock was set back");
    }

    #[test]
    fn it_takes_as_many_in_a_row_as_asked_for() {
        let terms = terms(json!({"failureThreshold": 3, "successThreshold": 2}));
        let verdict = |outcomes: &[Outcome]| after(ProbeKind::Readiness, &terms, outcomes).verdict;
        assert_eq!(verdict(&[Success]), Verdict::Pending);
        assert_eq!(verdict(&[Success, Success]), Verdict::Passing);
        assert_eq!(verdict(&[Failure, Failure, Success, Failure]), Verdict::Pending);
        assert_eq!(verdict(&[Failure, Failure, Failure, Success]), Verdict::Failing);
        assert_eq!(verdict(&[Failure, Failure, Failure, Success, Success]), Verdict::Passing);
    }

    #[test]
    fn a_start_and_a_death_are_final() {
        let terms = terms(json!({"failureThreshold": 1}));
        let started = after(ProbeKind::Startup, &terms, &[Success, Failure]);
        let dead = after(ProbeKind::Liveness, &terms, &[Failure, Success]);
        assert_eq!((started.verdict, dead.verdict), (Verdict::Passing, Verdict::Failing));
        assert_eq!(started.due(ProbeKind::Startup, &terms, at(0), at(9)), None);
        assert_eq!(dead.due(ProbeKind::Liveness, &terms, at(0), at(9)), None);
    }

    proptest! {
        #[test]
        fn a_verdict_follows_from_the_last_run_that_was_long_enough(
            outcomes in prop::collection::vec(prop::bool::ANY, 0..40), successes in 1_u32..4, failures in 1_u32..4,
        ) {
            let terms = Terms { successes, failures, ..terms(json!({})) };
            let outcomes: Vec<_> = outcomes.into_iter().map(|good| if good { Success } else { Failure }).collect();
            let long_enough = |end: &usize| {
                let last = outcomes[*end];
                let length = terms.threshold(last) as usize;
                *end + 1 >= length && outcomes[*end + 1 - length..=*end].iter().all(|outcome| *outcome == last)
            };
            let expected = (0..outcomes.len()).rev().find(long_enough).map_or(Verdict::Pending, |end| {
                if outcomes[end] == Success { Verdict::Passing } else { Verdict::Failing }
            });
            prop_assert_eq!(after(ProbeKind::Readiness, &terms, &outcomes).verdict, expected);
        }
    }
}
