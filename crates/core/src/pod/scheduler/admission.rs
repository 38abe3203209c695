//! Whether the node takes a Pod that is bound to it, by the scheduler or by anybody: as kubelets check it once more.

use k8s_openapi::api::core::v1::{Pod, PodSpec};

use super::fit::{self, Shortage};
use super::load::Load;
use super::{Site, occupies};
use crate::pod::support::{Refusal, summary};
use crate::pod::taints::{NO_EXECUTE, tolerates};

/// Why a Pod fails instead of running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    pub reason: String,
    pub message: String,
}

impl Rejection {
    /// The reason of a Pod whose spec this node does not run.
    pub const UNSUPPORTED: &str = "UnsupportedPodSpec";

    fn new(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason: reason.into(), message: message.into() }
    }

    fn predicate(name: &str, complaint: &str) -> Self {
        Self::new(name, format!("Predicate {name} failed: {complaint}"))
    }

    fn shortage(shortage: &Shortage) -> Self {
        let Shortage { resource, requested, used, capacity } = shortage;
        let message = format!(
            "Node didn't have enough resource: {resource}, requested: {requested}, used: {used}, capacity: {capacity}"
        );
        Self::new(format!("OutOf{resource}"), message)
    }
}

/// What keeps the node from running a Pod: fields that it does not honour, or no room. `site` holds the Pods that were
/// taken before it.
pub fn admit(pod: &Pod, refusals: &[Refusal], site: &Site<'_>) -> Result<(), Rejection> {
    if !refusals.is_empty() {
        return Err(Rejection::new(Rejection::UNSUPPORTED, summary(refusals)));
    }
    let Some(spec) = pod.spec.as_ref() else { return Ok(()) };
    let present: Vec<_> = site.pods.iter().copied().filter(|other| occupies(other, pod)).collect();
    place(spec, &Site { pods: &present, ..*site })
}

fn place(spec: &PodSpec, site: &Site<'_>) -> Result<(), Rejection> {
    if let Some(shortage) = fit::shortages(spec, site.node, &Load::of_all(site.pods)).first() {
        Err(Rejection::shortage(shortage))
    } else if !fit::is_selected(spec, site.node) {
        Err(Rejection::predicate("NodeAffinity", fit::UNSELECTED))
    } else if fit::clashes(spec, site) {
        Err(Rejection::predicate("NodePorts", fit::PORTS_TAKEN))
    } else if is_expelled(spec, site) {
        Err(Rejection::predicate("TaintToleration", "node(s) had taints that the pod didn't tolerate"))
    } else {
        Ok(())
    }
}

fn is_expelled(spec: &PodSpec, site: &Site<'_>) -> bool {
    let mut taints = site.node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    taints.any(|taint| taint.effect == NO_EXECUTE && !tolerates(spec, taint))
}
