//! Decides what one Pod needs next from this node: pure, total and deterministic. Leaves the doing to `apply` and
//! the remembering to `driver`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodSpec, PodStatus};

use super::script::{Outcome, Script};
use super::stage::{Ending, Stage, Timetable};
use super::status;

/// The node, and who schedules for it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) node: String,
    pub(super) host: IpAddr,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) scheduling: Scheduling,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scheduling {
    /// This kubelet also binds the Pods that ask for a scheduler of this name.
    Own(String),
    /// Somebody else binds Pods.
    Foreign,
}

/// What the API does not keep about a Pod, or only to the second.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    /// When the Pod was first seen bound.
    pub(super) bound: Option<Timestamp>,
    /// When the Pod was first seen in deletion.
    pub(super) deleted: Option<Timestamp>,
    pub(super) addresses: Vec<IpAddr>,
}

/// A Pod at one moment, with all that bears on its plan.
#[derive(Clone, Copy)]
pub(super) struct Sight<'a> {
    pub(super) pod: &'a Pod,
    pub(super) script: &'a Script,
    pub(super) place: &'a Place,
    pub(super) memory: &'a Memory,
    pub(super) now: Timestamp,
}

/// What to do now, and when to look again if nothing happens.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Plan {
    pub(super) action: Option<Action>,
    pub(super) next_look: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    Bind,
    SetStatus(Box<PodStatus>),
    Remove,
}

/// The next step of one Pod.
pub(super) fn plan(sight: Sight<'_>) -> Plan {
    match (node(sight.pod), sight.memory.deleted) {
        (None, None) => schedule(sight),
        // The API server removes a Pod without a node by itself.
        (None, Some(_)) => Plan::default(),
        (Some(node), _) if node != sight.place.node => Plan::default(),
        (Some(_), None) => live(sight),
        (Some(_), Some(deleted)) => terminate(sight, deleted),
    }
}

/// The node a Pod is bound to.
pub(super) fn node(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|node| !node.is_empty())
}

fn schedule(sight: Sight<'_>) -> Plan {
    if !eligible(sight.pod, sight.place) {
        Plan::default()
    } else if sight.script.outcome == Outcome::Unschedulable {
        Plan::reach(sight, status::refused(sight))
    } else {
        Plan { action: Some(Action::Bind), next_look: None }
    }
}

fn eligible(pod: &Pod, place: &Place) -> bool {
    pod.spec.as_ref().is_some_and(|spec| {
        scheduled_here(spec, place)
            && spec.scheduling_gates.iter().flatten().next().is_none()
            && spec.node_selector.iter().flatten().all(|(key, value)| place.labels.get(key) == Some(value))
    })
}

fn scheduled_here(spec: &PodSpec, place: &Place) -> bool {
    match &place.scheduling {
        Scheduling::Own(name) => spec.scheduler_name.as_deref().unwrap_or("default-scheduler") == name,
        Scheduling::Foreign => false,
    }
}

fn live(sight: Sight<'_>) -> Plan {
    if ended(sight.pod) {
        return Plan::default();
    }
    let timetable = Timetable::of(sight.script, sight.bound());
    let wanted = status::at(&timetable.stage(sight.now), sight);
    Plan { next_look: timetable.next(sight.now), ..Plan::reach(sight, wanted) }
}

fn terminate(sight: Sight<'_>, deleted: Timestamp) -> Plan {
    let grace = grace(sight.pod);
    let due = deleted + sight.script.terminate_after.min(grace);
    if sight.now < due {
        Plan { action: None, next_look: Some(due) }
    } else if !ended(sight.pod) {
        Plan::reach(sight, status::at(&Stage::Ended(Ending::stopped()), sight))
    } else if grace.is_zero() {
        // Removal was asked for already; what is left are finalizers, which are others' to take off.
        Plan::default()
    } else {
        Plan { action: Some(Action::Remove), next_look: None }
    }
}

fn grace(pod: &Pod) -> Duration {
    let seconds = pod.metadata.deletion_grace_period_seconds.unwrap_or_default();
    Duration::from_secs(seconds.try_into().unwrap_or_default())
}

fn ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

impl Sight<'_> {
    pub(super) fn bound(&self) -> Timestamp {
        self.memory.bound.unwrap_or(self.now)
    }

    /// When the containers start.
    pub(super) fn start(&self) -> Timestamp {
        self.bound() + self.script.start_after
    }
}

impl Plan {
    fn reach(sight: Sight<'_>, wanted: PodStatus) -> Self {
        let action = (!status::shows(sight.pod, &wanted)).then(|| Action::SetStatus(Box::new(wanted)));
        Self { action, next_look: None }
    }
}

impl Memory {
    /// What one more look at a Pod adds. A Pod that started before, under an earlier kubelet of this node,
    /// counts from then.
    #[must_use]
    pub(super) fn noting(self, pod: &Pod, now: Timestamp) -> Self {
        let started = pod.status.as_ref().and_then(|status| status.start_time.as_ref());
        let bound = node(pod).map(|_| started.map_or(now, |time| time.0));
        let deleted = pod.metadata.deletion_timestamp.as_ref().map(|_| now);
        let addresses = if self.addresses.is_empty() { status::addresses(pod) } else { self.addresses };
        Self { bound: self.bound.or(bound), deleted: self.deleted.or(deleted), addresses }
    }
}

#[cfg(test)]
mod tests;
