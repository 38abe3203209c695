//! Keeps what a claim's Sandbox bears in step with the claim and its template: edits of either reach running Pods.

use asb_types::annotations;
use asb_types::hash::fnv1a_hex;
use asb_types::labels;
use serde_json::json;

use super::problem::Problem;
use super::transfer::{current, parts};
use super::{Observed, Referenced, metadata, template_name};
use crate::patch;
use crate::views::{ClaimView, Request, SandboxView, TemplateView};
use crate::write::{Kind, Write};

/// The patch that is missing, if one is. It holds whatever else has changed about the Sandbox, so it needs no lock.
pub(super) fn correct(observed: &Observed<'_>, sandbox: &SandboxView) -> Result<Option<Write>, Problem> {
    if sandbox.metadata.is_deleting() {
        return Ok(None);
    }
    let claim = observed.claim;
    let (mut labels, mut pod) = (sandbox.metadata.labels.clone(), current(sandbox));
    if let Some(template) = template(observed)? {
        pod = metadata::desired(claim, template)?;
        labels.insert(labels::TEMPLATE_REF_HASH.to_owned(), fnv1a_hex(template.metadata.name()));
        metadata::mark_creator(claim, &mut labels);
    }
    labels.entry(labels::LAUNCH_TYPE.to_owned()).or_insert_with(|| launch_type(claim, sandbox).to_owned());
    let same = json!({});
    let now = parts(&json!(sandbox.metadata.labels), &same, &current(sandbox));
    let change = patch::difference(&now, &parts(&json!(labels), &same, &pod));
    Ok(change.map(|body| Write::patch(Kind::Sandbox, &sandbox.metadata, body)))
}

/// The template, if it is there. A claim with metadata of its own cannot do without.
fn template<'a>(observed: &Observed<'a>) -> Result<Option<&'a TemplateView>, Problem> {
    if let Some(template) = observed.template.there() {
        return Ok(Some(template));
    }
    if observed.claim.additional_pod_metadata.is_empty() {
        return Ok(None);
    }
    let missing = match (&observed.claim.request, &observed.pool) {
        (Request::Pool(pool), Referenced::Missing) => Problem::pool_missing(pool),
        _ => Problem::template_missing(&template_name(observed)),
    };
    Err(missing.while_propagating())
}

/// How a Sandbox that does not say must have been launched.
pub(super) fn launch_type(claim: &ClaimView, sandbox: &SandboxView) -> &'static str {
    let name = sandbox.metadata.name();
    let is_recorded = claim.metadata.annotation(annotations::SANDBOX_NAME) == Some(name)
        || claim.metadata.label(labels::LEGACY_SANDBOX_NAME) == Some(name);
    if is_recorded || name != claim.metadata.name() { labels::LAUNCH_WARM } else { labels::LAUNCH_COLD }
}
