//! The phase that a Sandbox is in.

use asb_types::conditions::{FINISHED, SUSPENDED, finished};
use asb_types::phase::SandboxPhase;
use asb_types::v1beta1::SandboxStatus;
use jiff::Timestamp;

use super::at_hand::AtHand;
use super::expiry::Expiry;
use super::observed::Observed;
use crate::conditions;
use crate::views::PodView;

/// Follows from the conditions as they are about to be written. A result outlives the Pod, and an expiry.
pub(super) fn of(observed: &Observed, status: &SandboxStatus, now: Timestamp) -> SandboxPhase {
    let sandbox = &observed.sandbox;
    let ended = conditions::find(&status.conditions, FINISHED);
    match ended.map(|finished| finished.reason == finished::POD_SUCCEEDED) {
        _ if sandbox.metadata.is_deleting() => SandboxPhase::Terminating,
        Some(true) => SandboxPhase::Succeeded,
        Some(false) => SandboxPhase::Failed,
        None if !matches!(Expiry::of(sandbox, now), Expiry::Ahead(_)) => SandboxPhase::Terminating,
        None if conditions::is_true(&status.conditions, SUSPENDED) => SandboxPhase::Suspended,
        None => of_pod(AtHand::of(observed).ours()),
    }
}

fn of_pod(pod: Option<&PodView>) -> SandboxPhase {
    match pod {
        Some(pod) if pod.phase == PodView::RUNNING => SandboxPhase::Running,
        _ => SandboxPhase::Pending,
    }
}
