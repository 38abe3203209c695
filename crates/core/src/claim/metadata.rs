//! The labels and annotations that a claim puts on its Pod: which it may, and what becomes of them beside the template's.

use std::collections::BTreeMap;

use asb_types::blueprint::PodMetadata;
use asb_types::hash::fnv1a_hex;
use asb_types::{annotations, labels};

use super::problem::Problem;
use super::syntax;
use crate::views::{ClaimView, PodBlueprint, TemplateView};

/// The router finds its own Pods by this label; nobody else may look like one.
const ROUTER_LABEL: (&str, &str) = ("app", "sandbox-router");
/// Domains whose annotations mean something to Kubernetes or to us.
const RESERVED_DOMAINS: [&str; 3] = ["kubernetes.io", "k8s.io", asb_types::GROUP];

/// Whether the claim may ask for these at all.
pub(super) fn validate(metadata: &PodMetadata, domains: &[String]) -> Result<(), Problem> {
    let label = |(key, value): (&String, &String)| {
        check_label(key, value, domains).map_err(|problem| ("label", key.clone(), problem))
    };
    let annotation =
        |key: &String| check_annotation(key).map_err(|problem| ("annotation", key.clone(), problem));
    let checked = metadata.labels.iter().try_for_each(label);
    checked.and_then(|()| metadata.annotations.keys().try_for_each(annotation)).map_err(
        |(what, key, problem)| {
            Problem::InvalidMetadata(format!(
                "invalid additionalPodMetadata: failed to validate {what} {key:?}: {problem}"
            ))
        },
    )
}

fn check_label(key: &str, value: &str, domains: &[String]) -> Result<(), String> {
    let domain = syntax::domain(key).map_err(|malformed| malformed.to_string())?;
    if key == ROUTER_LABEL.0 && value.eq_ignore_ascii_case(ROUTER_LABEL.1) {
        return Err(format!("the value {value:?} is reserved for the router"));
    }
    let Some(domain) = domain else {
        return Err(format!("the key must have a domain prefix, one of {}", domains.join(", ")));
    };
    if !domains.iter().any(|allowed| syntax::is_within(domain, allowed)) {
        return Err(format!("the domain {domain:?} is not allowed; allowed are {}", domains.join(", ")));
    }
    if syntax::is_label_text(value) { Ok(()) } else { Err(format!("{value:?} is not a valid label value")) }
}

fn check_annotation(key: &str) -> Result<(), String> {
    let domain = syntax::domain(key).map_err(|malformed| malformed.to_string())?;
    let is_reserved = |domain: &str| RESERVED_DOMAINS.iter().any(|parent| syntax::is_within(domain, parent));
    match domain {
        Some(domain) if key != annotations::SAFE_TO_EVICT && is_reserved(domain) => {
            Err(format!("the domain {domain:?} is reserved"))
        }
        _ => Ok(()),
    }
}

/// What the podTemplate of the claim's Sandbox is to bear: the template's, ours, and the claim's.
pub(super) fn desired(claim: &ClaimView, template: &TemplateView) -> Result<PodMetadata, Problem> {
    let mut base =
        PodMetadata { labels: template.pod.labels.clone(), annotations: template.pod.annotations.clone() };
    base.labels.insert(labels::TEMPLATE_REF_HASH.to_owned(), fnv1a_hex(template.metadata.name()));
    mark(claim, &mut base.labels);
    add(claim, base)
}

/// The same where the template cannot be read: what a pool's member bears, without what made it a member.
pub(super) fn desired_in_place(claim: &ClaimView, member: &PodBlueprint) -> Result<PodMetadata, Problem> {
    let mut base = PodMetadata { labels: member.labels.clone(), annotations: member.annotations.clone() };
    base.labels.retain(|key, _| !is_of_pool(key));
    base.annotations.retain(|key, value| key != annotations::SAFE_TO_EVICT || value != "true");
    mark(claim, &mut base.labels);
    add(claim, base)
}

/// The labels that make a Sandbox a pool's.
pub(super) fn is_of_pool(label: &str) -> bool {
    [labels::WARM_POOL, labels::TEMPLATE_HASH, labels::POD_TEMPLATE_HASH].contains(&label)
}

/// The labels that say whose a Sandbox is, on itself and on its podTemplate alike.
pub(super) fn mark(claim: &ClaimView, labels: &mut BTreeMap<String, String>) {
    labels.insert(labels::CLAIM_UID.to_owned(), claim.metadata.uid.to_string());
    mark_creator(claim, labels);
}

pub(super) fn mark_creator(claim: &ClaimView, labels: &mut BTreeMap<String, String>) {
    match claim.metadata.label(labels::CREATED_BY) {
        Some(client) => labels.insert(labels::CREATED_BY.to_owned(), client.to_owned()),
        None => labels.remove(labels::CREATED_BY),
    };
}

fn add(claim: &ClaimView, mut base: PodMetadata) -> Result<PodMetadata, Problem> {
    merge("label", &mut base.labels, &claim.additional_pod_metadata.labels)?;
    merge("annotation", &mut base.annotations, &claim.additional_pod_metadata.annotations)?;
    Ok(base)
}

fn merge(
    what: &str,
    base: &mut BTreeMap<String, String>,
    added: &BTreeMap<String, String>,
) -> Result<(), Problem> {
    for (key, value) in added {
        let before = base.insert(key.clone(), value.clone());
        if let Some(before) = before.filter(|before| before != value) {
            return Err(Problem::InvalidMetadata(format!(
                "metadata override conflict: {what} {key:?} is defined in template with value {before:?}, but claim requests {value:?}"
            )));
        }
    }
    Ok(())
}
