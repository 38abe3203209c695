//! A Sandbox in one word, for people and for clients that poll. Conditions say more.

use asb_types::conditions::{FINISHED, SUSPENDED, finished};
use asb_types::v1beta1::SandboxStatus;
use jiff::Timestamp;

use super::at_hand::AtHand;
use super::expiry::Expiry;
use super::observed::Observed;
use crate::conditions;
use crate::views::PodView;

/// `status.phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Its Pod is not running yet.
    Pending,
    Running,
    /// Its Pod was taken away on request.
    Suspended,
    /// Its Pod ended by itself, and well.
    Succeeded,
    /// Its Pod ended by itself, and not well.
    Failed,
    /// Its end has come: it is being deleted, or it has expired.
    Terminating,
}

impl Phase {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Suspended => "Suspended",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Terminating => "Terminating",
        }
    }

    /// Follows from the conditions as they are about to be written. A result outlives the Pod, and an expiry.
    pub(super) fn of(observed: &Observed, status: &SandboxStatus, now: Timestamp) -> Self {
        let sandbox = &observed.sandbox;
        let ended = conditions::find(&status.conditions, FINISHED);
        match ended.map(|finished| finished.reason == finished::POD_SUCCEEDED) {
            _ if sandbox.metadata.is_deleting() => Self::Terminating,
            Some(true) => Self::Succeeded,
            Some(false) => Self::Failed,
            None if !matches!(Expiry::of(sandbox, now), Expiry::Ahead(_)) => Self::Terminating,
            None if conditions::is_true(&status.conditions, SUSPENDED) => Self::Suspended,
            None => Self::of_pod(AtHand::of(observed).ours()),
        }
    }

    fn of_pod(pod: Option<&PodView>) -> Self {
        match pod {
            Some(pod) if pod.phase == PodView::RUNNING => Self::Running,
            _ => Self::Pending,
        }
    }
}
