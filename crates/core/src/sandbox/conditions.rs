//! Suspended, Finished and PodScheduled: what the Pod at hand says about its Sandbox. Ready has a module of its own.

use asb_types::conditions::{finished, pod_scheduled, suspended};
use asb_types::v1beta1::OperatingMode;

use super::at_hand::AtHand;
use super::observed::Observed;
use super::trouble::{Part, Trouble};
use crate::conditions::{Truth, Verdict, is_reason};
use crate::views::{PodView, Scheduled};

/// Always there.
pub(super) fn suspended(observed: &Observed, troubles: &[Trouble]) -> Verdict {
    if observed.sandbox.operating_mode != OperatingMode::Suspended {
        return Verdict::new(false, suspended::NOT_SUSPENDED, "Sandbox is not suspended");
    }
    match AtHand::of(observed) {
        AtHand::Ours(pod) if pod.metadata.is_deleting() || !is_pod_unknown(troubles) => {
            Verdict::new(false, suspended::POD_TERMINATING, "Pod is terminating. Sandbox is suspending")
        }
        AtHand::Nobodys(_) | AtHand::Anothers(..) => Verdict::new(
            false,
            suspended::POD_NOT_OWNED,
            "Refused to delete pod because it is not owned by this sandbox",
        ),
        AtHand::Nothing if !is_pod_unknown(troubles) => {
            Verdict::new(true, suspended::POD_TERMINATED, "Pod has been terminated. Sandbox is suspended")
        }
        AtHand::Nothing | AtHand::Ours(_) | AtHand::Several(_) => Verdict::new(
            Truth::Unknown,
            suspended::POD_STATE_UNKNOWN,
            "Pod state is unknown. Sandbox suspension cannot be confirmed",
        ),
    }
}

/// Only while there is a Pod that ended by itself.
pub(super) fn finished(observed: &Observed) -> Option<Verdict> {
    ended(AtHand::of(observed).ours()?).map(|(reason, message)| Verdict::new(true, reason, message))
}

/// The reason and message of a Pod that ended by itself, for Finished and for Ready.
pub(super) fn ended(pod: &PodView) -> Option<(&'static str, &'static str)> {
    match pod.phase.as_str() {
        PodView::SUCCEEDED => Some((finished::POD_SUCCEEDED, "Pod completed successfully")),
        PodView::FAILED => Some((finished::POD_FAILED, "Pod failed")),
        _ => None,
    }
}

/// The Pod's own condition, as it is.
pub(super) fn pod_scheduled(observed: &Observed, troubles: &[Trouble]) -> Option<Verdict> {
    let unknown = |message: &str| Some(Verdict::new(Truth::Unknown, pod_scheduled::UNKNOWN, message));
    match AtHand::of(observed).ours().map(|pod| &pod.scheduled) {
        Some(Some(scheduled)) => Some(mirrored(scheduled)),
        Some(None) => unknown("Pod has not reported a PodScheduled condition yet"),
        None if is_pod_unknown(troubles) => {
            unknown("Pod state is unknown. Pod scheduling cannot be determined")
        }
        None => None,
    }
}

fn mirrored(scheduled: &Scheduled) -> Verdict {
    let (status, usual) = match scheduled.status.as_str() {
        "True" => (Truth::True, pod_scheduled::SCHEDULED),
        "False" => (Truth::False, pod_scheduled::UNKNOWN),
        _ => (Truth::Unknown, pod_scheduled::UNKNOWN),
    };
    let reason = if is_reason(&scheduled.reason) { &scheduled.reason } else { usual };
    Verdict::new(status, reason, scheduled.message.as_str())
}

/// Whether something went wrong about the Pod itself.
fn is_pod_unknown(troubles: &[Trouble]) -> bool {
    troubles.iter().any(|trouble| trouble.part == Part::Pod)
}
