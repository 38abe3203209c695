//! Whether the node does for a Pod, checked in the order of Kubernetes' scheduler: the first check that fails is told.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ContainerPort, Node, Pod, PodSpec, Taint};

use super::load::{Load, PODS};
use super::{Site, affinity, spread};
use crate::pod::resources::{Resources, requests};
use crate::pod::selection::{Labels, term_matches};
use crate::pod::taints::{NO_EXECUTE, NO_SCHEDULE, UNSCHEDULABLE, tolerates};

pub(super) const UNSELECTED: &str = "node(s) didn't match Pod's node affinity/selector";
pub(super) const PORTS_TAKEN: &str = "node(s) didn't have free ports for the requested pod ports";

/// Why the node does not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Obstacle {
    pub(super) reasons: Vec<String>,
    /// Whether other Pods could make way.
    pub(super) may_yield: bool,
}

impl Obstacle {
    pub(super) fn lasting(reason: &str) -> Self {
        Self { reasons: vec![reason.to_owned()], may_yield: false }
    }

    pub(super) fn yielding(reason: &str) -> Self {
        Self { reasons: vec![reason.to_owned()], may_yield: true }
    }
}

pub(super) fn obstacle(pod: &Pod, spec: &PodSpec, site: &Site<'_>) -> Option<Obstacle> {
    obstacle_beside(pod, spec, site, &Load::of_all(site.pods))
}

/// The same, by one who knows what those on the node take.
pub(super) fn obstacle_beside(pod: &Pod, spec: &PodSpec, site: &Site<'_>, load: &Load) -> Option<Obstacle> {
    cordoned(spec, site.node)
        .or_else(|| tainted(spec, site.node))
        .or_else(|| unselected(spec, site.node))
        .or_else(|| ports_taken(spec, site))
        .or_else(|| crowded(spec, site.node, load))
        .or_else(|| spread::obstacle(pod, spec, site))
        .or_else(|| affinity::obstacle(pod, spec, site))
}

fn cordoned(spec: &PodSpec, node: &Node) -> Option<Obstacle> {
    let cordoned = node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true));
    let taint = Taint { key: UNSCHEDULABLE.into(), effect: NO_SCHEDULE.into(), ..Taint::default() };
    (cordoned && !tolerates(spec, &taint)).then(|| Obstacle::lasting("node(s) were unschedulable"))
}

fn tainted(spec: &PodSpec, node: &Node) -> Option<Obstacle> {
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    let mut binding = taints.filter(|taint| taint.effect == NO_SCHEDULE || taint.effect == NO_EXECUTE);
    let unborne = binding.any(|taint| !tolerates(spec, taint));
    unborne.then(|| Obstacle::lasting("node(s) had untolerated taint(s)"))
}

fn unselected(spec: &PodSpec, node: &Node) -> Option<Obstacle> {
    (!is_selected(spec, node)).then(|| Obstacle::lasting(UNSELECTED))
}

/// Whether the Pod's selector and required affinity take the node.
pub(super) fn is_selected(spec: &PodSpec, node: &Node) -> bool {
    let labels = labels(node);
    let name = node.metadata.name.as_deref().unwrap_or_default();
    let has_labels = spec.node_selector.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required =
        affinity.and_then(|node| node.required_during_scheduling_ignored_during_execution.as_ref());
    let matches = |term| term_matches(term, name, &labels);
    has_labels && required.is_none_or(|selector| selector.node_selector_terms.iter().any(matches))
}

pub(super) fn labels(node: &Node) -> Labels {
    node.metadata.labels.clone().unwrap_or_default()
}

fn ports_taken(spec: &PodSpec, site: &Site<'_>) -> Option<Obstacle> {
    clashes(spec, site).then(|| Obstacle::yielding(PORTS_TAKEN))
}

/// Whether a port of the host that the Pod wants is taken.
pub(super) fn clashes(spec: &PodSpec, site: &Site<'_>) -> bool {
    let wanted = host_ports(spec);
    if wanted.is_empty() {
        return false;
    }
    let mut taken = site.pods.iter().filter_map(|pod| pod.spec.as_ref()).flat_map(host_ports);
    taken.any(|taken| wanted.iter().any(|wanted| wanted.clashes(&taken)))
}

/// A port of the host that a container listens on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct HostPort {
    port: i32,
    protocol: String,
    address: String,
}

const ANY_ADDRESS: &str = "0.0.0.0";

impl HostPort {
    fn clashes(&self, other: &Self) -> bool {
        let any = self.address == ANY_ADDRESS || other.address == ANY_ADDRESS;
        (self.port, &self.protocol) == (other.port, &other.protocol) && (any || self.address == other.address)
    }

    fn read(port: &ContainerPort) -> Option<Self> {
        let filled = |text: &Option<String>, default: &str| {
            text.clone().filter(|text| !text.is_empty()).unwrap_or(default.into())
        };
        Some(Self {
            port: port.host_port.filter(|port| *port > 0)?,
            protocol: filled(&port.protocol, "TCP"),
            address: filled(&port.host_ip, ANY_ADDRESS),
        })
    }
}

fn host_ports(spec: &PodSpec) -> BTreeSet<HostPort> {
    let sidecars = spec
        .init_containers
        .iter()
        .flatten()
        .filter(|container| crate::pod::resources::is_sidecar(container));
    let containers = spec.containers.iter().chain(sidecars);
    containers.flat_map(|container| container.ports.iter().flatten()).filter_map(HostPort::read).collect()
}

/// Too many Pods, or too little of what they need.
fn crowded(spec: &PodSpec, node: &Node, load: &Load) -> Option<Obstacle> {
    let shortages = shortages(spec, node, load);
    let reasons = shortages.iter().map(Shortage::reason).collect();
    let may_yield = shortages.iter().all(|shortage| shortage.requested <= shortage.capacity);
    (!shortages.is_empty()).then_some(Obstacle { reasons, may_yield })
}

/// A resource of which a Pod wants more than is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shortage {
    pub(super) resource: String,
    pub(super) requested: i64,
    pub(super) used: i64,
    pub(super) capacity: i64,
}

impl Shortage {
    fn reason(&self) -> String {
        if self.resource == PODS {
            "Too many pods".to_owned()
        } else {
            format!("Insufficient {}", self.resource)
        }
    }
}

pub(super) fn shortages(spec: &PodSpec, node: &Node, used: &Load) -> Vec<Shortage> {
    let allocatable = allocatable(node);
    let mut wanted = requests(spec);
    wanted.set(PODS, 1);
    let shortage = |(resource, requested): (&str, i64)| {
        let (used, capacity) = (used.get(resource), allocatable.get(resource));
        let resource = resource.to_owned();
        (requested > 0 && requested > capacity.saturating_sub(used)).then_some(Shortage {
            resource,
            requested,
            used,
            capacity,
        })
    };
    wanted.amounts().filter_map(shortage).collect()
}

fn allocatable(node: &Node) -> Resources {
    Resources::read(node.status.as_ref().and_then(|status| status.allocatable.as_ref()))
}
