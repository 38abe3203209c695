//! Spreading over domains of a topology. With one node there is one domain, whose count is also the least: only a domain
//! that the node lacks, or more domains than there are, keep a Pod away.

use k8s_openapi::api::core::v1::{Pod, PodSpec, TopologySpreadConstraint};

use super::Site;
use super::affinity::require;
use super::fit::{self, Obstacle};
use crate::pod::selection::selects;

const UNMATCHED: &str = "node(s) didn't match pod topology spread constraints";

pub(super) fn obstacle(pod: &Pod, spec: &PodSpec, site: &Site<'_>) -> Option<Obstacle> {
    let constraints = spec.topology_spread_constraints.iter().flatten();
    let mut binding = constraints.filter(|constraint| constraint.when_unsatisfiable == "DoNotSchedule");
    binding.find_map(|constraint| judge(constraint, pod, spec, site))
}

fn judge(
    constraint: &TopologySpreadConstraint,
    pod: &Pod,
    spec: &PodSpec,
    site: &Site<'_>,
) -> Option<Obstacle> {
    if !fit::labels(site.node).contains_key(&constraint.topology_key) {
        return Some(Obstacle::lasting(&format!("{UNMATCHED} (missing required label)")));
    }
    let own = pod.metadata.labels.clone().unwrap_or_default();
    let selector =
        require(constraint.label_selector.clone(), constraint.match_label_keys.as_deref(), "In", &own);
    let matches = |other: &&&Pod| {
        other.metadata.namespace == pod.metadata.namespace
            && other.metadata.deletion_timestamp.is_none()
            && selects(selector.as_ref(), &other.metadata.labels.clone().unwrap_or_default())
    };
    let count = site.pods.iter().filter(matches).count();
    let itself = usize::from(selects(selector.as_ref(), &own));
    let least = if lacks_domains(constraint, spec, site) { 0 } else { count };
    let skew = count + itself - least;
    let most = usize::try_from(constraint.max_skew).unwrap_or_default();
    (skew > most).then(|| Obstacle::yielding(UNMATCHED))
}

/// Whether there are fewer domains than asked for. The node's own counts unless a policy leaves the node out.
fn lacks_domains(constraint: &TopologySpreadConstraint, spec: &PodSpec, site: &Site<'_>) -> bool {
    let honours = constraint.node_affinity_policy.as_deref() != Some("Ignore");
    let domains = i32::from(!honours || fit::is_selected(spec, site.node));
    domains < constraint.min_domains.unwrap_or(1)
}
