//! What has happened to a Sandbox, by what its status said and what it is about to say. Whoever writes that status counts
//! it, so that it is counted once however often operators restart.

use asb_types::conditions::{FINISHED, READY, SUSPENDED, finished, sandbox_ready, suspended};
use asb_types::v1beta1::OperatingMode;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::conditions;
use crate::views::SandboxView;

/// A turn in the life of a Sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Expired,
    /// Its Pod has ended by itself, for this reason.
    Finished(&'static str),
    SuspendRequested,
    SuspendFailed,
    /// So long after it was asked for, where that is known.
    Suspended(Option<SignedDuration>),
    ResumeRequested,
    ResumeFailed,
    /// Ready again, so long after it was asked for, where that is known.
    Resumed(Option<SignedDuration>),
}

/// What a status that is about to be written tells. `asked_at` is when the mode was last seen to change.
pub fn turns(
    sandbox: &SandboxView,
    next: &[Condition],
    asked_at: Option<Timestamp>,
    now: Timestamp,
) -> Vec<Turn> {
    let step = Step { before: &sandbox.status.conditions, next, asked_at, now };
    let expiry = step.expiry().into_iter();
    match sandbox.operating_mode {
        // A Pod that ends because it is deleted did not end by itself.
        OperatingMode::Suspended => expiry.chain(step.suspension()).collect(),
        OperatingMode::Running => expiry.chain(step.end()).chain(step.resumption()).collect(),
    }
}

/// Since when a Sandbox is coming back.
enum Resuming {
    /// The status does not say so yet.
    Now,
    /// The status has said so since.
    Since(Timestamp),
}

/// From one status to the next.
struct Step<'a> {
    before: &'a [Condition],
    next: &'a [Condition],
    asked_at: Option<Timestamp>,
    now: Timestamp,
}

impl Step<'_> {
    fn expiry(&self) -> Option<Turn> {
        self.comes_to(READY, &[sandbox_ready::EXPIRED]).then_some(Turn::Expired)
    }

    fn end(&self) -> Option<Turn> {
        let finished = conditions::find(self.next, FINISHED).filter(|_| self.becomes_true(FINISHED))?;
        let is_success = finished.reason == finished::POD_SUCCEEDED;
        Some(Turn::Finished(if is_success { finished::POD_SUCCEEDED } else { finished::POD_FAILED }))
    }

    /// One that was never anything but suspended is none.
    fn suspension(&self) -> Vec<Turn> {
        let Some(before) = conditions::find(self.before, SUSPENDED) else { return Vec::new() };
        let is_new = before.status != "True" && before.reason == suspended::NOT_SUSPENDED;
        let fails = self.comes_to(SUSPENDED, &[suspended::POD_STATE_UNKNOWN, suspended::POD_NOT_OWNED]);
        let turns = [
            is_new.then_some(Turn::SuspendRequested),
            fails.then_some(Turn::SuspendFailed),
            self.becomes_true(SUSPENDED).then(|| Turn::Suspended(self.since(self.asked_at))),
        ];
        turns.into_iter().flatten().collect()
    }

    fn resumption(&self) -> Vec<Turn> {
        let was_suspended = conditions::is_true(self.before, SUSPENDED);
        let is_new = was_suspended && !conditions::is_true(self.next, SUSPENDED);
        let resuming = self.resuming().filter(|_| !conditions::is_true(self.next, SUSPENDED));
        let begun = match resuming {
            None => return Vec::new(),
            Some(Resuming::Now) => None,
            Some(Resuming::Since(moment)) => Some(moment),
        };
        let problems = [sandbox_ready::RECONCILER_ERROR, sandbox_ready::INVALID_CONFIGURATION];
        let turns = [
            is_new.then_some(Turn::ResumeRequested),
            self.comes_to(READY, &problems).then_some(Turn::ResumeFailed),
            self.becomes_true(READY).then(|| Turn::Resumed(self.since(self.asked_at.or(begun)))),
        ];
        turns.into_iter().flatten().collect()
    }

    /// Whether the Sandbox is coming back: it was told that it is no longer suspended after it was told that it is not Ready.
    fn resuming(&self) -> Option<Resuming> {
        let suspended = conditions::find(self.before, SUSPENDED)?;
        if suspended.status == "True" {
            return Some(Resuming::Now);
        }
        let ready = conditions::find(self.before, READY).filter(|ready| ready.status != "True")?;
        let (back, away) = (suspended.last_transition_time.0, ready.last_transition_time.0);
        // Conditions know whole seconds.
        let is_resuming = back > away || back == away && self.asked_at.is_some();
        is_resuming.then_some(Resuming::Since(back))
    }

    fn becomes_true(&self, type_: &str) -> bool {
        conditions::is_true(self.next, type_) && !conditions::is_true(self.before, type_)
    }

    /// Whether a condition comes to give one of these reasons, and gave another before.
    fn comes_to(&self, type_: &str, reasons: &[&str]) -> bool {
        let reason = |list| conditions::find(list, type_).map(|condition| condition.reason.as_str());
        reason(self.next).is_some_and(|new| reasons.contains(&new) && reason(self.before) != Some(new))
    }

    fn since(&self, moment: Option<Timestamp>) -> Option<SignedDuration> {
        moment.map(|moment| self.now.duration_since(moment)).filter(|took| !took.is_negative())
    }
}
