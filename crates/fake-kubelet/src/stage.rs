//! The steps of a Pod's life on a node, and when its script takes each of them.

use std::time::Duration;

use jiff::Timestamp;

use super::script::{Outcome, Script, Verdict};

/// How far a Pod on this node has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its containers are being created.
    Waiting,
    /// Its containers run, and none is ready.
    Started,
    Ready,
    Ended(Ending),
}

/// How containers ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) phase: &'static str,
    pub(super) exit_code: i32,
    pub(super) reason: String,
    pub(super) verdict: Option<Verdict>,
}

/// The stages of one Pod in order, each with its time.
pub(super) struct Timetable(Vec<(Timestamp, Stage)>);

impl Timetable {
    pub(super) fn of(script: &Script, bound: Timestamp) -> Self {
        let start = script.start_after;
        let ready = script.ready_after.max(start);
        let finish = ending(script).map(|ending| (script.finish_after.max(start), Stage::Ended(ending)));
        let gets_ready =
            script.outcome != Outcome::NeverReady && finish.as_ref().is_none_or(|(end, _)| ready <= *end);
        let stages = [(Duration::ZERO, Stage::Waiting), (start, Stage::Started)]
            .into_iter()
            .chain(gets_ready.then_some((ready, Stage::Ready)))
            .chain(finish)
            .map(|(delay, stage)| (bound + delay, stage));
        Self(stages.collect())
    }

    /// Of several stages at one time the last counts; a clock set back finds the Pod waiting.
    pub(super) fn stage(&self, now: Timestamp) -> Stage {
        let reached = self.0.iter().rev().find(|(time, _)| *time <= now);
        reached.map_or(Stage::Waiting, |(_, stage)| stage.clone())
    }

    pub(super) fn next(&self, now: Timestamp) -> Option<Timestamp> {
        self.0.iter().map(|(time, _)| *time).find(|time| *time > now)
    }
}

impl Ending {
    /// Containers that stopped when they were asked to.
    pub(super) fn stopped() -> Self {
        Self { phase: "Succeeded", exit_code: 0, reason: "Completed".to_owned(), verdict: None }
    }
}

fn ending(script: &Script) -> Option<Ending> {
    let (phase, reason) = match script.outcome {
        Outcome::Succeed => ("Succeeded", "Completed"),
        Outcome::Fail => ("Failed", "Error"),
        Outcome::Run | Outcome::NeverReady | Outcome::Unschedulable => return None,
    };
    Some(Ending {
        phase,
        exit_code: script.exit_code(),
        reason: script.reason.clone().unwrap_or_else(|| reason.to_owned()),
        verdict: script.verdict.clone(),
    })
}
