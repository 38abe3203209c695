//! What is written on the claim itself, after everything that its user waits for: when it was first seen and first Ready,
//! the trace that this belongs to, and the name of a warm Sandbox. One patch where the claim is Ready soon.

use asb_types::conditions::READY;
use asb_types::launch::ClaimLaunch;
use asb_types::{annotations, labels};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::{Observed, sync};
use crate::conditions;
use crate::views::{ClaimView, SandboxView};
use crate::write::{Kind, Write};

/// So long the patch waits for the claim to become Ready, so that it is one and not two.
const PATIENCE: SignedDuration = SignedDuration::from_secs(5);

/// What is to be written now, or when to look again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stamps {
    pub(super) write: Option<Write>,
    pub(super) look_again: Option<Timestamp>,
}

pub(super) fn stamp(
    observed: &Observed<'_>,
    sandbox: Option<&SandboxView>,
    launch: Option<&ClaimLaunch>,
    is_ready: bool,
    now: Timestamp,
) -> Stamps {
    let claim = observed.claim;
    let mut changes = Map::new();
    if observed.settings.timestamps {
        changes.extend(first_observed(observed));
        changes.extend(first_ready(claim, launch, is_ready, now));
        changes.extend(trace(observed));
    }
    changes.extend(sandbox.and_then(|sandbox| sandbox_name(claim, sandbox)));
    let has_label = sandbox.is_some() && claim.metadata.label(labels::LEGACY_SANDBOX_NAME).is_some();
    if changes.is_empty() && !has_label {
        return Stamps::default();
    }
    let due = observed.first_observed.saturating_add(PATIENCE).unwrap_or(Timestamp::MAX);
    if !is_ready && now < due {
        return Stamps { write: None, look_again: Some(due) };
    }
    Stamps { write: Some(patch(claim, changes, has_label)), look_again: None }
}

fn patch(claim: &ClaimView, changes: Map<String, Value>, has_label: bool) -> Write {
    let mut body = json!({"metadata": {}});
    if !changes.is_empty() {
        body["metadata"]["annotations"] = changes.into();
    }
    if has_label {
        body["metadata"]["labels"] = json!({labels::LEGACY_SANDBOX_NAME: null});
    }
    Write::patch(Kind::SandboxClaim, &claim.metadata, body)
}

fn first_observed(observed: &Observed<'_>) -> Option<(String, Value)> {
    let key = annotations::CONTROLLER_FIRST_OBSERVED_AT;
    let is_missing = observed.claim.metadata.annotation(key).is_none();
    is_missing.then(|| (key.to_owned(), time(observed.first_observed).into()))
}

/// A trace that the claim names stays.
fn trace(observed: &Observed<'_>) -> Option<(String, Value)> {
    let key = annotations::TRACE_CONTEXT;
    let trace = observed.trace.filter(|_| observed.claim.metadata.annotation(key).is_none())?;
    Some((key.to_owned(), trace.into()))
}

/// Of a claim that was Ready before we looked, the moment is known only if its story tells.
fn first_ready(
    claim: &ClaimView,
    launch: Option<&ClaimLaunch>,
    is_ready: bool,
    now: Timestamp,
) -> Option<(String, Value)> {
    let key = annotations::CLAIM_FIRST_READY_AT;
    if !is_ready || claim.metadata.annotation(key).is_some() {
        return None;
    }
    let was_ready = conditions::is_true(&claim.status.conditions, READY);
    let ready_at = |launch: &ClaimLaunch| Some(launch.ready_at.clone()).filter(|at| !at.is_empty());
    let told = claim.status.launch.as_ref().and_then(ready_at).and(launch.and_then(ready_at));
    let moment = match (told, was_ready) {
        (Some(told), _) => told,
        (None, true) => annotations::FIRST_READY_UNKNOWN.to_owned(),
        (None, false) => time(now),
    };
    Some((key.to_owned(), moment.into()))
}

/// Only a warm Sandbox is named: its name is not the claim's. A name that leads nowhere any more is taken away.
fn sandbox_name(claim: &ClaimView, sandbox: &SandboxView) -> Option<(String, Value)> {
    let (key, name) = (annotations::SANDBOX_NAME, sandbox.metadata.name());
    let label =
        sandbox.metadata.label(labels::LAUNCH_TYPE).unwrap_or_else(|| sync::launch_type(claim, sandbox));
    let recorded = claim.metadata.annotation(key);
    let wanted = (label == labels::LAUNCH_WARM || recorded == Some(name)).then_some(name);
    (recorded != wanted).then(|| (key.to_owned(), wanted.into()))
}

fn time(at: Timestamp) -> String {
    format!("{at:.9}")
}
