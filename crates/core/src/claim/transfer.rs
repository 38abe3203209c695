//! The change of a warm Sandbox's owner from its pool to a claim: one merge patch that applies only if nobody has touched
//! the Sandbox since. With its owner, a Sandbox gets what its template says of the volumes of claimed ones: those of a member
//! hold nothing of anybody, and would be left behind by every pool that shrinks.

use asb_types::blueprint::PodMetadata;
use asb_types::lifecycle::WhenDeleted;
use asb_types::{annotations, labels, names};
use serde_json::{Value, json};

use super::metadata;
use super::observed::Observed;
use super::problem::Problem;
use crate::patch;
use crate::views::{ClaimView, SandboxView};
use crate::write::{Kind, Write};

pub(super) fn transfer(observed: &Observed<'_>, sandbox: &SandboxView) -> Result<Write, Problem> {
    let (claim, template) = (observed.claim, observed.template.there());
    let pod = match template {
        Some(template) => metadata::desired(claim, template)?,
        None => metadata::desired_in_place(claim, &sandbox.pod)?,
    };
    let now = parts(&json!(sandbox.metadata.labels), &json!(sandbox.metadata.annotations), &current(sandbox));
    let then = parts(&own_labels(claim, sandbox, &pod), &own_annotations(observed, sandbox), &pod);
    let mut body = patch::difference(&now, &then).unwrap_or_else(|| json!({}));
    if template.is_some_and(|template| template.volumes_when_deleted == WhenDeleted::Retain) {
        body["spec"]["volumeClaimRetentionPolicy"] = json!({"whenDeleted": WhenDeleted::Retain});
    }
    body["metadata"]["ownerReferences"] = json!([claim.metadata.controller_reference(Kind::SandboxClaim)]);
    Ok(Write::patch(Kind::Sandbox, &sandbox.metadata, body).locked(sandbox.metadata.version))
}

/// The parts of a Sandbox that claims decide on.
pub(super) fn parts(labels: &Value, annotations: &Value, pod: &PodMetadata) -> Value {
    json!({
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {"podTemplate": {"metadata": {"labels": pod.labels, "annotations": pod.annotations}}},
    })
}

pub(super) fn current(sandbox: &SandboxView) -> PodMetadata {
    PodMetadata { labels: sandbox.pod.labels.clone(), annotations: sandbox.pod.annotations.clone() }
}

fn own_labels(claim: &ClaimView, sandbox: &SandboxView, pod: &PodMetadata) -> Value {
    let mut own = sandbox.metadata.labels.clone();
    own.retain(|key, _| !metadata::is_of_pool(key));
    own.insert(labels::LAUNCH_TYPE.to_owned(), labels::LAUNCH_WARM.to_owned());
    if let Some(template) = pod.labels.get(labels::TEMPLATE_REF_HASH) {
        own.insert(labels::TEMPLATE_REF_HASH.to_owned(), template.clone());
    }
    metadata::mark(claim, &mut own);
    json!(own)
}

fn own_annotations(observed: &Observed<'_>, sandbox: &SandboxView) -> Value {
    let mut own = sandbox.metadata.annotations.clone();
    own.insert(annotations::POD_NAME.to_owned(), names::pod(sandbox.metadata.name()));
    if let Some(trace) = observed.trace() {
        own.insert(annotations::TRACE_CONTEXT.to_owned(), trace.to_owned());
    }
    json!(own)
}
