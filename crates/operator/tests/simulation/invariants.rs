//! What the operator may never do, whatever it was told and whatever went wrong.
//!
//! - A Sandbox has at most one claim over its life, and keeps it; no write gives a claim a second Sandbox.
//! - No create makes a pool's members, those on their way out included, more than the pool wants: the most that its spec
//!   said as it was last served to the operator, from when the create was sent until it took effect, and a surge only
//!   where that asks for one.
//! - Nothing is deleted but what its owner's spec, as last served, says is to go; and a claim whose users were told of a
//!   Sandbox gets no other in its place, unless it says so itself.

use asb_core::write::Kind;
use jiff::Timestamp;
use serde_json::Value;

use crate::object::{controller_name, controller_of, is_deleting, name, uid};
use crate::store::{Change, Store};
use crate::witness::{Sent, Witness};

type Verdict = Result<(), String>;

pub(crate) fn check(
    witness: &Witness,
    sent: &Sent,
    change: &Change,
    store: &Store,
    now: Timestamp,
) -> Verdict {
    match (change.id.0, change.before.as_deref(), change.after.as_deref()) {
        (Kind::Sandbox, None, Some(made)) => {
            is_wanted(sent, made, store)?;
            may_have(witness, sent, made, store, now)
        }
        (Kind::Sandbox, Some(before), Some(after)) if !is_going(before, after) => {
            keeps_its_claim(witness, before, after)?;
            let is_new =
                controller_of(before, Kind::SandboxClaim) != controller_of(after, Kind::SandboxClaim);
            if is_new { may_have(witness, sent, after, store, now) } else { Ok(()) }
        }
        (kind, Some(before), after) if after.is_none_or(|after| is_going(before, after)) => {
            may_go(kind, before, sent, now)
        }
        _ => Ok(()),
    }
}

fn is_going(before: &Value, after: &Value) -> bool {
    is_deleting(after) && !is_deleting(before)
}

fn keeps_its_claim(witness: &Witness, before: &Value, after: &Value) -> Verdict {
    let (had, has) = (witness.claim_of.get(uid(before)), controller_of(after, Kind::SandboxClaim));
    match had {
        Some(had) if has != Some(had) => {
            Err(format!("Sandbox {} was claim {had}'s and is now {has:?}'s", name(after)))
        }
        _ => Ok(()),
    }
}

/// Whether the claim that controls a Sandbox from now on may have it.
fn may_have(witness: &Witness, sent: &Sent, sandbox: &Value, store: &Store, now: Timestamp) -> Verdict {
    let Some(claim) = controller_of(sandbox, Kind::SandboxClaim) else { return Ok(()) };
    let is_another = |other: &Value| {
        uid(other) != uid(sandbox)
            && !is_deleting(other)
            && controller_of(other, Kind::SandboxClaim) == Some(claim)
    };
    if let Some(other) = store.list(Kind::Sandbox).find(|other| is_another(other)) {
        return Err(format!("claim {claim} has {} and gets {}", name(other), name(sandbox)));
    }
    let believed =
        sent.believed(Kind::SandboxClaim, controller_name(sandbox, Kind::SandboxClaim).unwrap_or_default());
    let may_replace =
        |claim: &Value| claim["spec"]["lostSandboxPolicy"] == "Replace" || has_expired(claim, now);
    if witness.told.contains(claim) && !believed.iter().any(|claim| may_replace(claim)) {
        return Err(format!("claim {claim} had a Sandbox, and {} silently takes its place", name(sandbox)));
    }
    Ok(())
}

/// Whether a pool wants one more member.
fn is_wanted(sent: &Sent, member: &Value, store: &Store) -> Verdict {
    let Some(pool) = controller_of(member, Kind::SandboxWarmPool) else { return Ok(()) };
    let believed = sent
        .believed(Kind::SandboxWarmPool, controller_name(member, Kind::SandboxWarmPool).unwrap_or_default());
    let most = believed.iter().filter(|believed| uid(believed) == pool).map(|pool| wanted(pool)).max();
    let members = store
        .list(Kind::Sandbox)
        .filter(|other| controller_of(other, Kind::SandboxWarmPool) == Some(pool))
        .count();
    match most {
        None => {
            Err(format!("{} is made for pool {pool}, which the operator was never told of", name(member)))
        }
        Some(most) if members > most => {
            Err(format!("{} makes {members} members of pool {pool}, which wants {most}", name(member)))
        }
        Some(_) => Ok(()),
    }
}

/// How many members a pool may have at most.
fn wanted(pool: &Value) -> usize {
    let number =
        |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or_default();
    let spec = &pool["spec"];
    number(&spec["replicas"]) + number(&spec["updateStrategy"]["maxSurge"])
}

/// Whether something may be deleted: its owner, as last served, says so.
fn may_go(kind: Kind, object: &Value, sent: &Sent, now: Timestamp) -> Verdict {
    let any = |kind: Kind, allows: &dyn Fn(&Value) -> bool| {
        let owner = controller_name(object, kind).unwrap_or_default();
        let of_ours = |believed: &&std::sync::Arc<Value>| Some(uid(believed)) == controller_of(object, kind);
        sent.believed(kind, owner).iter().filter(of_ours).any(|owner| allows(owner))
    };
    let is_allowed = match kind {
        Kind::Pod => any(Kind::Sandbox, &|sandbox| sandbox["spec"]["operatingMode"] == "Suspended"),
        // Which member goes is the pool's to choose.
        Kind::Sandbox if controller_of(object, Kind::SandboxWarmPool).is_some() => {
            any(Kind::SandboxWarmPool, &|_| true)
        }
        Kind::Sandbox => any(Kind::SandboxClaim, &|claim| has_expired(claim, now)),
        Kind::SandboxClaim => has_expired(object, now),
        Kind::Service => any(Kind::Sandbox, &|_| true),
        Kind::NetworkPolicy => any(Kind::SandboxTemplate, &|_| true),
        Kind::SandboxTemplate | Kind::SandboxWarmPool | Kind::PersistentVolumeClaim => false,
    };
    if is_allowed {
        Ok(())
    } else {
        Err(format!("{} {} is deleted, and nobody asked for it", kind.name(), name(object)))
    }
}

pub(crate) fn has_expired(claim: &Value, now: Timestamp) -> bool {
    let end =
        claim["spec"]["lifecycle"]["shutdownTime"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
    end.is_some_and(|end| end <= now)
}
