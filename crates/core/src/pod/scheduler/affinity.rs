//! Required affinity between Pods. All of them are on the one node, so a topology is shared if the node has its label.

use k8s_openapi::api::core::v1::{Pod, PodAffinityTerm, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use super::Site;
use super::fit::{self, Obstacle};
use crate::pod::selection::{Labels, selects};

pub(super) fn obstacle(pod: &Pod, spec: &PodSpec, site: &Site<'_>) -> Option<Obstacle> {
    if !is_attracted(pod, spec, site) {
        Some(Obstacle::lasting("node(s) didn't match pod affinity rules"))
    } else if repels(pod, &repulsions(spec), site) {
        Some(Obstacle::yielding("node(s) didn't match pod anti-affinity rules"))
    } else if is_repelled(pod, site) {
        Some(Obstacle::yielding("node(s) didn't satisfy existing pods anti-affinity rules"))
    } else {
        None
    }
}

/// Every term finds a Pod; or no term finds any and the Pod satisfies its own, being the first of its series.
fn is_attracted(pod: &Pod, spec: &PodSpec, site: &Site<'_>) -> bool {
    let terms = attractions(spec);
    let labels = fit::labels(site.node);
    let finds = |term: &&PodAffinityTerm| site.pods.iter().any(|other| concerns(term, pod, other, site));
    let is_first = || !terms.iter().any(finds) && terms.iter().all(|term| concerns(term, pod, pod, site));
    terms.iter().all(|term| labels.contains_key(&term.topology_key))
        && (terms.iter().all(finds) || is_first())
}

/// Whether the Pod keeps away from one that is there.
fn repels(pod: &Pod, terms: &[&PodAffinityTerm], site: &Site<'_>) -> bool {
    if terms.is_empty() {
        return false;
    }
    let labels = fit::labels(site.node);
    let mut shared = terms.iter().filter(|term| labels.contains_key(&term.topology_key));
    shared.any(|term| site.pods.iter().any(|other| concerns(term, pod, other, site)))
}

/// Whether one that is there keeps away from the Pod.
fn is_repelled(pod: &Pod, site: &Site<'_>) -> bool {
    let alone = [pod];
    let only = Site { pods: &alone, ..*site };
    site.pods
        .iter()
        .any(|other| other.spec.as_ref().is_some_and(|spec| repels(other, &repulsions(spec), &only)))
}

fn attractions(spec: &PodSpec) -> Vec<&PodAffinityTerm> {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.pod_affinity.as_ref());
    let required =
        affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    required.into_iter().flatten().collect()
}

fn repulsions(spec: &PodSpec) -> Vec<&PodAffinityTerm> {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let required =
        affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    required.into_iter().flatten().collect()
}

/// Whether a term of one Pod speaks of another.
fn concerns(term: &PodAffinityTerm, pod: &Pod, other: &Pod, site: &Site<'_>) -> bool {
    let own = pod.metadata.labels.clone().unwrap_or_default();
    let selector = refined(term, &own);
    let labels = other.metadata.labels.clone().unwrap_or_default();
    in_scope(term, pod, other, site) && selects(selector.as_ref(), &labels)
}

fn in_scope(term: &PodAffinityTerm, pod: &Pod, other: &Pod, site: &Site<'_>) -> bool {
    let namespace = other.metadata.namespace.clone().unwrap_or_default();
    let listed = term.namespaces.as_deref().unwrap_or_default();
    if listed.is_empty() && term.namespace_selector.is_none() {
        return other.metadata.namespace == pod.metadata.namespace;
    }
    let nothing = Labels::default();
    let labels = site.namespaces.get(&namespace).unwrap_or(&nothing);
    listed.contains(&namespace) || selects(term.namespace_selector.as_ref(), labels)
}

/// The selector with what `matchLabelKeys` and `mismatchLabelKeys` take from the Pod's own labels.
fn refined(term: &PodAffinityTerm, own: &Labels) -> Option<LabelSelector> {
    let selector = require(term.label_selector.clone(), term.match_label_keys.as_deref(), "In", own);
    require(selector, term.mismatch_label_keys.as_deref(), "NotIn", own)
}

/// Adds a requirement for each key that the Pod has.
pub(super) fn require(
    selector: Option<LabelSelector>,
    keys: Option<&[String]>,
    operator: &str,
    own: &Labels,
) -> Option<LabelSelector> {
    let mut selector = selector?;
    let requirement = |key: &String| {
        let values = Some(vec![own.get(key)?.clone()]);
        Some(LabelSelectorRequirement { key: key.clone(), operator: operator.to_owned(), values })
    };
    let added = keys.unwrap_or_default().iter().filter_map(requirement);
    selector.match_expressions.get_or_insert_default().extend(added);
    Some(selector)
}
