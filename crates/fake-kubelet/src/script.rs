//! What becomes of a Pod: one outcome and when its steps happen. Says nothing about which Pods it is for; that
//! is `rules`. All times but [`Script::terminate_after`] count from the moment the Pod was seen bound.

use std::time::Duration;

/// How a Pod's life goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Becomes Ready and stays so.
    #[default]
    Run,
    /// Ends with phase Succeeded.
    Succeed,
    /// Ends with phase Failed.
    Fail,
    /// Runs, and no container ever gets ready.
    NeverReady,
    /// Is refused by the scheduler. A Pod that is bound already runs instead.
    Unschedulable,
}

/// One Pod's life. With the default delays of zero all that happens at one time is one write: a Pod told to
/// succeed at once is never seen Running.
///
/// Containers that have ended stay so, whatever `restartPolicy` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    pub(super) outcome: Outcome,
    pub(super) start_after: Duration,
    pub(super) ready_after: Duration,
    pub(super) finish_after: Duration,
    pub(super) terminate_after: Duration,
    pub(super) exit_code: Option<i32>,
    pub(super) reason: Option<String>,
    pub(super) verdict: Option<Verdict>,
}

/// Why the Pod as a whole failed, as a kubelet says of an evicted one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) reason: String,
    pub(super) message: String,
}

impl Script {
    pub fn run() -> Self {
        Self::default()
    }

    pub fn succeed() -> Self {
        Self { outcome: Outcome::Succeed, ..Self::default() }
    }

    pub fn fail(exit_code: i32) -> Self {
        Self { outcome: Outcome::Fail, exit_code: Some(exit_code), ..Self::default() }
    }

    pub fn never_ready() -> Self {
        Self { outcome: Outcome::NeverReady, ..Self::default() }
    }

    pub fn unschedulable() -> Self {
        Self { outcome: Outcome::Unschedulable, ..Self::default() }
    }

    /// Until then the containers are being created.
    #[must_use]
    pub fn start_after(self, delay: Duration) -> Self {
        Self { start_after: delay, ..self }
    }

    /// Until then the containers run without being ready.
    #[must_use]
    pub fn ready_after(self, delay: Duration) -> Self {
        Self { ready_after: delay, ..self }
    }

    /// When the containers of a Pod told to succeed or fail end.
    #[must_use]
    pub fn finish_after(self, delay: Duration) -> Self {
        Self { finish_after: delay, ..self }
    }

    /// How long the containers take to stop once the Pod is being deleted; its grace period cuts this short.
    #[must_use]
    pub fn terminate_after(self, delay: Duration) -> Self {
        Self { terminate_after: delay, ..self }
    }

    /// Why the containers ended, such as `OOMKilled`.
    #[must_use]
    pub fn reason(self, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..self }
    }

    /// Why the Pod as a whole ended, such as `Evicted`.
    #[must_use]
    pub fn pod_reason(self, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { verdict: Some(Verdict { reason: reason.into(), message: message.into() }), ..self }
    }

    pub(super) fn exit_code(&self) -> i32 {
        self.exit_code.unwrap_or(i32::from(self.outcome == Outcome::Fail))
    }
}
