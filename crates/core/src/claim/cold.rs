//! The Sandbox that a claim starts when it adopts none.

use std::collections::BTreeMap;

use asb_types::conditions::{READY, template_ready};
use asb_types::lifecycle::WhenDeleted;
use asb_types::{annotations, labels, names};
use serde_json::{Value, json};

use super::observed::Observed;
use super::problem::Problem;
use super::{env, metadata, volumes};
use crate::blueprint::{Blueprint, sandbox};
use crate::conditions;
use crate::views::{ClaimView, TemplateView};
use crate::write::{Kind, Target, Write};

pub(super) fn create(observed: &Observed<'_>, template: &TemplateView) -> Result<Write, Problem> {
    let claim = observed.claim;
    refuse_collision(template)?;
    let blueprint = Blueprint::of(template);
    let key = claim.metadata.key.sibling(&names::cold_sandbox(claim.metadata.name()));
    let owner = claim.metadata.controller_reference(Kind::SandboxClaim);
    let spec = spec(claim, template, &blueprint)?;
    let object =
        sandbox(&key, &own_labels(claim, &blueprint), &own_annotations(observed, &blueprint), &owner, spec);
    Ok(Write::Create { target: Target::new(Kind::Sandbox, key), object })
}

fn spec(claim: &ClaimView, template: &TemplateView, blueprint: &Blueprint<'_>) -> Result<Value, Problem> {
    let mut spec = blueprint.spec();
    let list = |volumes: Value| volumes.as_array().cloned().unwrap_or_default();
    let volumes = volumes::merge(
        &list(template.volumes.value()),
        &list(claim.volumes.value()),
        template.volumes_policy,
    )?;
    if !volumes.is_empty() {
        spec["volumeClaimTemplates"] = volumes.into();
    }
    if template.volumes_when_deleted == WhenDeleted::Retain {
        spec["volumeClaimRetentionPolicy"] = json!({"whenDeleted": WhenDeleted::Retain});
    }
    spec["podTemplate"]["metadata"] = json!(metadata::desired(claim, template)?);
    env::inject(&mut spec["podTemplate"]["spec"], &claim.env, template.env_policy)?;
    Ok(spec)
}

fn own_labels(claim: &ClaimView, blueprint: &Blueprint<'_>) -> BTreeMap<String, String> {
    let mut own = BTreeMap::from([
        (labels::LAUNCH_TYPE.to_owned(), labels::LAUNCH_COLD.to_owned()),
        (labels::TEMPLATE_REF_HASH.to_owned(), blueprint.ref_hash().to_owned()),
    ]);
    metadata::mark(claim, &mut own);
    own
}

/// The Pod's name is known beforehand and need not be written later.
fn own_annotations(observed: &Observed<'_>, blueprint: &Blueprint<'_>) -> BTreeMap<String, String> {
    let mut own = blueprint.annotations();
    let sandbox = names::cold_sandbox(observed.claim.metadata.name());
    own.insert(annotations::POD_NAME.to_owned(), names::pod(&sandbox));
    if let Some(trace) = observed.trace() {
        own.insert(annotations::TRACE_CONTEXT.to_owned(), trace.to_owned());
    }
    own
}

/// A template that shares its hash with another has no NetworkPolicy of its own: its Pods would be under the other's.
fn refuse_collision(template: &TemplateView) -> Result<(), Problem> {
    let ready = conditions::find(&template.status.conditions, READY);
    let collides = ready.filter(|ready| ready.reason == template_ready::NAME_HASH_COLLISION);
    collides.map_or(Ok(()), |ready| {
        Err(Problem::Invalid(format!("SandboxTemplate {:?}: {}", template.metadata.name(), ready.message)))
    })
}
