//! The scheduler of the one node: whether a Pod is bound to it, and if not, why, in the words of Kubernetes' own scheduler.
//! Leaves writing bindings, conditions and events to `node`.

mod admission;
mod affinity;
mod claims;
mod fit;
mod load;
mod preemption;
mod spread;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, PodSpec};

use super::selection::Labels;
pub use admission::{Rejection, admit};
pub use claims::{SELECTED_NODE, check_claims, claim_name};
use fit::Obstacle;
pub use load::Load;

/// The scheduler that Pods ask for unless they name another.
pub const DEFAULT: &str = "default-scheduler";

/// The node, and all that bears on who fits on it.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    pub node: &'a Node,
    /// The Pods that are bound to it, or about to be. Those that have ended take nothing.
    pub pods: &'a [&'a Pod],
    /// The labels of every namespace, which affinity may select by.
    pub namespaces: &'a BTreeMap<String, Labels>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Another scheduler's, bound already, or on its way out.
    NotOurs,
    /// It waits for its gates to be taken off: condition PodScheduled with reason SchedulingGated.
    Gated(String),
    Bind,
    /// It fits, and these claims of its waited for that: they are told the node, and it is bound when they have volumes.
    Choose(Vec<String>),
    /// These Pods have to go first, most important first. The message is told meanwhile.
    Preempt {
        victims: Vec<Victim>,
        message: String,
    },
    /// Condition PodScheduled with reason Unschedulable, and a FailedScheduling event.
    Unschedulable(String),
}

/// A Pod that makes room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Victim {
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

impl Victim {
    pub fn of(pod: &Pod) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let metadata = &pod.metadata;
        Self { namespace: text(&metadata.namespace), name: text(&metadata.name), uid: text(&metadata.uid) }
    }
}

const GATED: &str = "Scheduling is blocked due to non-empty scheduling gates";

/// What becomes of one Pod.
pub fn decide(pod: &Pod, site: &Site<'_>) -> Decision {
    let others: Vec<_> = site.pods.iter().copied().filter(|other| occupies(other, pod)).collect();
    decide_beside(pod, site, &Load::of_all(&others))
}

/// The same, by one who knows what the Pods on the node take, of which this is none.
pub fn decide_beside(pod: &Pod, site: &Site<'_>, load: &Load) -> Decision {
    let Some(spec) = pod.spec.as_ref().filter(|spec| is_ours(pod, spec)) else { return Decision::NotOurs };
    if spec.scheduling_gates.iter().flatten().next().is_some() {
        return Decision::Gated(GATED.to_owned());
    }
    let present: Vec<_> = site.pods.iter().copied().filter(|other| occupies(other, pod)).collect();
    match fit::obstacle_beside(pod, spec, &Site { pods: &present, ..*site }, load) {
        None => Decision::Bind,
        Some(obstacle) => preemption::resolve(pod, spec, &Site { pods: &present, ..*site }, &obstacle),
    }
}

fn is_ours(pod: &Pod, spec: &PodSpec) -> bool {
    let unset = |text: &Option<String>| text.as_deref().unwrap_or_default().is_empty();
    let scheduler = spec.scheduler_name.as_deref().filter(|name| !name.is_empty()).unwrap_or(DEFAULT);
    scheduler == DEFAULT
        && unset(&spec.node_name)
        && pod.metadata.deletion_timestamp.is_none()
        && !has_ended(pod)
}

/// Whether a Pod takes room that another would need.
fn occupies(other: &Pod, pod: &Pod) -> bool {
    let is_same = other.metadata.uid.is_some() && other.metadata.uid == pod.metadata.uid;
    !is_same && !has_ended(other)
}

fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// Who is tried first: more priority, then who has waited longer.
pub fn order(first: &Pod, second: &Pod) -> Ordering {
    let key = |pod: &Pod| (created(pod), pod.metadata.namespace.clone(), pod.metadata.name.clone());
    priority(second).cmp(&priority(first)).then_with(|| key(first).cmp(&key(second)))
}

fn created(pod: &Pod) -> Option<Timestamp> {
    pod.metadata.creation_timestamp.as_ref().map(|time| time.0)
}

fn priority(pod: &Pod) -> i32 {
    pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or_default()
}

/// What is told of a node that does not do.
fn unavailable(obstacle: &Obstacle) -> String {
    let mut reasons: Vec<_> = obstacle.reasons.iter().map(|reason| format!("1 {reason}")).collect();
    reasons.sort();
    format!("0/1 nodes are available: {}.", reasons.join(", "))
}

#[cfg(test)]
mod tests;
