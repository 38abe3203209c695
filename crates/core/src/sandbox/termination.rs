//! How a Pod is made to go: asked first, waited for, and forced only where its node can no longer say that it ended.

use jiff::{SignedDuration, Timestamp};

use super::observed::Observed;
use super::plan::{PATIENCE, Step, after};
use crate::views::PodView;
use crate::write::{Deleting, Kind, Write};

/// How long after its grace period a Pod may take without being called stuck: kubelets clean up after the last process.
const LENIENCE: SignedDuration = SignedDuration::from_secs(30);

/// Where a Pod is on its way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Termination {
    /// Nobody has asked it to go.
    NotAsked,
    /// There is nothing to do before that time.
    Waiting(Timestamp),
    /// Its time is over and its node is lost.
    Abandoned,
    /// Its time is long over.
    Stuck(Hold),
}

/// What keeps a Pod that is stuck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// The kubelet has not confirmed that it ended.
    Node(String),
    /// It has ended, or was forced, and somebody's finalizers keep the object.
    Finalizers,
}

impl Termination {
    pub(super) fn of(pod: &PodView, observed: &Observed, now: Timestamp) -> Self {
        let Some(deletion) = pod.metadata.deletion else { return Self::NotAsked };
        let deadline = after(deletion.due, LENIENCE);
        // With no grace left the API server waits for no kubelet.
        let is_confirmed = deletion.grace.is_zero();
        if now < deletion.due {
            Self::Waiting(deletion.due)
        } else if !is_confirmed && observed.has_lost(&pod.node) {
            Self::Abandoned
        } else if now < deadline {
            Self::Waiting(deadline)
        } else if is_confirmed {
            Self::Stuck(Hold::Finalizers)
        } else {
            Self::Stuck(Hold::Node(pod.node.clone()))
        }
    }
}

/// Makes a Pod of the Sandbox go.
pub(super) fn remove(pod: &PodView, observed: &Observed, now: Timestamp) -> Step {
    match Termination::of(pod, observed, now) {
        Termination::NotAsked => delete(pod, Deleting::Background),
        _ => see_off(pod, observed, now),
    }
}

/// Sees to it that a Pod that was asked to go does.
pub(super) fn see_off(pod: &PodView, observed: &Observed, now: Timestamp) -> Step {
    match Termination::of(pod, observed, now) {
        Termination::NotAsked => Step::default(),
        Termination::Waiting(until) => Step::wait(until),
        Termination::Abandoned => delete(pod, Deleting::Force),
        Termination::Stuck(_) => Step::wait(after(now, PATIENCE)),
    }
}

fn delete(pod: &PodView, how: Deleting) -> Step {
    Step::write(Write::delete(Kind::Pod, &pod.metadata, how))
}
