//! What is measured of a claim: when it gets its Sandbox, and when it first becomes Ready, which happens once in its life
//! and is noted on the claim.

use std::sync::Arc;

use asb_types::annotations::{
    CLAIM_FIRST_READY_AT, CLIENT_FIRST_REQUESTED_AT, CONTROLLER_FIRST_OBSERVED_AT, WEBHOOK_FIRST_OBSERVED_AT,
};
use asb_types::conditions::READY;
use asb_types::launch::ClaimLaunch;
use jiff::{SignedDuration, Timestamp};

use super::{Observed, Start};
use crate::census::{self, Launching};
use crate::conditions;
use crate::views::{ClaimView, SandboxView};

/// The moments that count when a claim first becomes Ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstReady {
    pub launching: Launching,
    /// Why it was launched so, and when it was bound. Not known where who launched it did not live to tell.
    pub bound: Option<(&'static str, Timestamp)>,
    pub template: Option<Arc<str>>,
    /// When its user asked for it, by the user's clock.
    pub requested: Option<Timestamp>,
    /// When an admission webhook saw it.
    pub admitted: Option<Timestamp>,
    /// When an operator first saw it.
    pub observed: Timestamp,
    /// How long its Sandbox took to become Ready, whoever had it made.
    pub creation: Option<SignedDuration>,
    /// As its story tells the moment. No two tellers tell the same.
    pub told_at: String,
}

impl FirstReady {
    pub(super) fn of(observed: &Observed<'_>, sandbox: &SandboxView, launch: &ClaimLaunch) -> Self {
        let claim = observed.claim;
        Self {
            launching: Launching::of(&sandbox.metadata),
            bound: Start::reason_named(&launch.reason).zip(launch.bound_at.parse().ok()),
            template: census::template(&sandbox.metadata),
            requested: moment(claim, CLIENT_FIRST_REQUESTED_AT),
            admitted: moment(claim, WEBHOOK_FIRST_OBSERVED_AT),
            observed: observed.first_observed,
            creation: creation(sandbox),
            told_at: launch.ready_at.clone(),
        }
    }

    /// Whether a claim says what was to be told of it here: a telling that was not answered arrived after all.
    pub fn was_told(&self, claim: &ClaimView) -> bool {
        claim.status.launch.as_ref().is_some_and(|launch| launch.ready_at == self.told_at)
    }
}

/// Whether a claim that becomes Ready was never Ready before.
pub(super) fn is_first(claim: &ClaimView) -> bool {
    claim.metadata.annotation(CLAIM_FIRST_READY_AT).is_none()
        && claim.status.launch.as_ref().is_none_or(|launch| launch.ready_at.is_empty())
}

/// Whether a claim that gets a Sandbox never had one before.
pub fn has_no_story(claim: &ClaimView) -> bool {
    let type_ = claim.status.launch.as_ref().and_then(|launch| launch.r#type);
    type_.is_none() && claim.status.sandbox.name.is_empty()
}

/// When an operator first saw a claim, as far as the claim says.
pub fn first_observed(claim: &ClaimView) -> Option<Timestamp> {
    moment(claim, CONTROLLER_FIRST_OBSERVED_AT)
        .or_else(|| claim.status.launch.as_ref()?.observed_at.parse().ok())
}

fn moment(claim: &ClaimView, annotation: &str) -> Option<Timestamp> {
    claim.metadata.annotation(annotation)?.parse().ok()
}

fn creation(sandbox: &SandboxView) -> Option<SignedDuration> {
    let ready = conditions::find(&sandbox.status.conditions, READY).filter(|ready| ready.status == "True")?;
    let took = ready.last_transition_time.0.duration_since(sandbox.metadata.created);
    (!took.is_negative()).then_some(took)
}
