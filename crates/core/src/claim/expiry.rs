//! The end of a claim: when it expires, and what then becomes of it and its Sandbox. It is said first and done after, so
//! that whoever watches sees why the claim went.

use asb_types::conditions::{FINISHED, READY, claim_ready};
use asb_types::lifecycle::ClaimShutdownPolicy;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::problem::Problem;
use super::status::Standing;
use super::{Observed, Plan, binding, events};
use crate::conditions;
use crate::report::Failure;
use crate::views::ClaimView;
use crate::write::{Deleting, Kind, Write};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expiry {
    Never,
    At(Timestamp),
    Expired { at: Timestamp },
}

/// When a claim in that condition expires: at its shutdown time, or so long after its Sandbox has finished.
pub(super) fn of(claim: &ClaimView, conditions: &[Condition], now: Timestamp) -> Expiry {
    let finished = conditions::find(conditions, FINISHED).filter(|finished| finished.status == "True");
    let after_finish = finished
        .zip(claim.ttl_after_finished)
        .map(|(finished, ttl)| finished.last_transition_time.0.saturating_add(ttl).unwrap_or(Timestamp::MAX));
    match claim.shutdown_time.into_iter().chain(after_finish).min() {
        None => Expiry::Never,
        Some(at) if at <= now => Expiry::Expired { at },
        Some(at) => Expiry::At(at),
    }
}

/// The condition that says that the claim has expired, if users were told.
pub(super) fn told(claim: &ClaimView) -> Option<&Condition> {
    conditions::find(&claim.status.conditions, READY).filter(|ready| ready.reason == claim_ready::EXPIRED)
}

pub(super) fn expire(observed: &Observed<'_>, at: Timestamp, now: Timestamp) -> Plan {
    let claim = observed.claim;
    if told(claim).is_none() {
        return Plan::tell(standing(observed)).with_event(events::expired()).again_at(now);
    }
    match claim.shutdown_policy {
        ClaimShutdownPolicy::Delete => delete(claim, Deleting::Background, "ShutdownPolicy=Delete"),
        ClaimShutdownPolicy::DeleteForeground => {
            delete(claim, Deleting::Foreground, "ShutdownPolicy=DeleteForeground")
        }
        ClaimShutdownPolicy::Retain => retain(observed, at, now),
    }
}

/// Keeps the claim, for as long as it says, and deletes what it controls.
fn retain(observed: &Observed<'_>, at: Timestamp, now: Timestamp) -> Plan {
    let claim = observed.claim;
    let end = claim.ttl_after_expired.map(|ttl| at.saturating_add(ttl).unwrap_or(Timestamp::MAX));
    if end.is_some_and(|end| end <= now) {
        return delete(claim, Deleting::Background, "TTLSecondsAfterExpired");
    }
    let ours = observed.bound.iter().filter(|sandbox| {
        sandbox.metadata.is_owned_by(&claim.metadata.uid) && !sandbox.metadata.is_deleting()
    });
    let writes: Vec<_> =
        ours.map(|ours| Write::delete(Kind::Sandbox, &ours.metadata, Deleting::Background)).collect();
    let plan = if writes.is_empty() { Plan::tell(standing(observed)) } else { Plan::act(writes) };
    end.into_iter().fold(plan, Plan::again_at)
}

fn delete(claim: &ClaimView, how: Deleting, why: &str) -> Plan {
    let write = Write::delete(Kind::SandboxClaim, &claim.metadata, how);
    Plan::act(vec![write]).with_event(events::deleting(why))
}

fn standing(observed: &Observed<'_>) -> Standing {
    let sandbox = binding::last(observed);
    let problem = if sandbox.is_some() { None } else { not_ours(observed) };
    Standing { sandbox: sandbox.cloned().map(Box::new), problem, is_expired: true }
}

/// How a claim stands whose plan could not be carried out. It keeps what it has; and what it had said of its expiry stays
/// said, or it would be said again before every try.
pub fn stumbled(observed: &Observed<'_>, failure: Failure, now: Timestamp) -> Standing {
    let claim = observed.claim;
    let is_over = matches!(of(claim, &claim.status.conditions, now), Expiry::Expired { .. });
    Standing {
        sandbox: binding::chosen(observed).cloned().map(Box::new),
        problem: Some(Problem::Failed(failure)),
        is_expired: is_over && told(claim).is_some(),
    }
}

/// Somebody else's Sandbox under the name that the claim goes by. It is left alone, and that is said.
fn not_ours(observed: &Observed<'_>) -> Option<Problem> {
    let claim = observed.claim;
    let is_assigned = !binding::assigned_name(claim).is_empty();
    let sandbox = match told(claim) {
        _ if is_assigned => observed.assigned.sandbox,
        None => observed.namesake,
        Some(_) => None,
    }?;
    Some(Problem::not_owned(sandbox.metadata.name(), claim.metadata.name()))
}
