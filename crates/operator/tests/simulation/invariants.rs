//! What the operator may never do, whatever it was told and whatever went wrong.
//!
//! - A Sandbox has at most one claim over its life, and keeps it; no write gives a claim a second Sandbox, and its users
//!   are told of one.
//! - No create makes a pool's members, those on their way out included, more than the pool wants: the most that its spec
//!   said as it was last served to the operator, from when the create was sent until it took effect, and a surge only
//!   where that asks for one.
//! - Nothing is deleted but what its owner's spec, as last served, says is to go; and a claim whose users were told of a
//!   Sandbox gets no other in its place, unless it says so itself.
//!
//! A create cannot be refused for coming late. So what a process sent while it was in charge may take effect when another
//! is: that may make a pool larger than it wants, or give a claim a Sandbox that nobody is told of, and whoever is in charge
//! has to take it away again. The same goes for a create that was given up and tried again under its name, when what that
//! made is gone by the time that the first one takes effect. It may never change whose a Sandbox is, or what users were told.

use asb_core::write::Kind;
use asb_types::annotations::v1alpha1_state;
use asb_types::labels::TEMPLATE_REF_HASH;
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
            if witness.is_echo(sent, change) {
                return Ok(());
            }
            is_wanted(witness, sent, made, store)?;
            may_have(witness, sent, made, store, now)
        }
        (Kind::Sandbox, Some(before), Some(after)) if !is_going(before, after) => {
            keeps_its_claim(witness, before, after)?;
            let is_new =
                controller_of(before, Kind::SandboxClaim) != controller_of(after, Kind::SandboxClaim);
            if !is_new {
                return Ok(());
            }
            is_fit(sent, before, after)?;
            may_have(witness, sent, after, store, now)
        }
        (kind, Some(before), after) if after.is_none_or(|after| is_going(before, after)) => {
            may_go(kind, before, sent, now)
        }
        (Kind::SandboxClaim, Some(before), Some(after)) => keeps_its_word(sent, before, after, now),
        _ => Ok(()),
    }
}

fn is_going(before: &Value, after: &Value) -> bool {
    is_deleting(after) && !is_deleting(before)
}

fn keeps_its_claim(witness: &Witness, before: &Value, after: &Value) -> Verdict {
    let [was, has] = [before, after].map(|sandbox| controller_of(sandbox, Kind::SandboxClaim));
    match witness.claim_of.get(uid(before)) {
        Some(had) if has != was && has != Some(had) => {
            Err(format!("Sandbox {} was claim {had}'s and is now {has:?}'s", name(after)))
        }
        _ => Ok(()),
    }
}

/// Whether a pool's member is what the claim that gets it asked for.
fn is_fit(sent: &Sent, before: &Value, after: &Value) -> Verdict {
    let claim = controller_name(after, Kind::SandboxClaim).unwrap_or_default();
    let pool = controller_name(before, Kind::SandboxWarmPool);
    let is_asked_for = |claim: &Value| {
        let wanted = claim["spec"]["warmPoolRef"]["name"].as_str().unwrap_or_default();
        let template = asb_types::names::shadowed_template(wanted).map(asb_types::hash::fnv1a_hex);
        let hash = before["metadata"]["labels"][TEMPLATE_REF_HASH].as_str();
        let is_of = template.map_or(pool == Some(wanted), |template| hash == Some(&template));
        let is_fresh_wanted = !claim["metadata"]["annotations"][v1alpha1_state::CLAIM].is_null();
        is_of
            && !is_fresh_wanted
            && ["env", "volumeClaimTemplates"].iter().all(|field| claim["spec"][field].is_null())
    };
    let believed = sent.believed(Kind::SandboxClaim, claim);
    if pool.is_some() && believed.iter().any(|claim| is_asked_for(claim)) {
        return Ok(());
    }
    Err(format!("claim {claim} gets {} of {pool:?}, which it did not ask for", name(after)))
}

/// Whether users who were told of a Sandbox are told of no other, unless they said that any would do.
fn keeps_its_word(sent: &Sent, before: &Value, after: &Value, now: Timestamp) -> Verdict {
    let told = |claim: &Value| claim["status"]["sandbox"]["name"].as_str().unwrap_or_default().to_owned();
    let (had, has) = (told(before), told(after));
    let believed = sent.believed(Kind::SandboxClaim, name(after));
    if had.is_empty() || has.is_empty() || had == has || believed.iter().any(|claim| may_replace(claim, now))
    {
        return Ok(());
    }
    Err(format!("claim {} was told of {had} and is now told of {has}", name(after)))
}

/// Whether a claim that has lost its Sandbox may get another.
fn may_replace(claim: &Value, now: Timestamp) -> bool {
    claim["spec"]["lostSandboxPolicy"] == "Replace" || has_expired(claim, now)
}

/// Whether the claim that controls a Sandbox from now on may have it.
fn may_have(witness: &Witness, sent: &Sent, sandbox: &Value, store: &Store, now: Timestamp) -> Verdict {
    let Some(claim) = controller_of(sandbox, Kind::SandboxClaim) else { return Ok(()) };
    let is_another = |other: &Value| {
        uid(other) != uid(sandbox)
            && !is_deleting(other)
            && controller_of(other, Kind::SandboxClaim) == Some(claim)
    };
    let mut others = store.list(Kind::Sandbox).filter(|other| is_another(other));
    if let Some(other) = others.find(|other| sent.is_in_charge && !witness.is_news(other, sent)) {
        return Err(format!("claim {claim} has {} and gets {}", name(other), name(sandbox)));
    }
    let believed =
        sent.believed(Kind::SandboxClaim, controller_name(sandbox, Kind::SandboxClaim).unwrap_or_default());
    let is_excused = believed.iter().any(|claim| may_replace(claim, now)) || !sent.is_in_charge;
    if witness.told.contains(claim) && !is_excused {
        return Err(format!("claim {claim} had a Sandbox, and {} silently takes its place", name(sandbox)));
    }
    Ok(())
}

/// Whether a pool wants one more member.
fn is_wanted(witness: &Witness, sent: &Sent, member: &Value, store: &Store) -> Verdict {
    let Some(pool) = controller_of(member, Kind::SandboxWarmPool) else { return Ok(()) };
    let believed = sent
        .believed(Kind::SandboxWarmPool, controller_name(member, Kind::SandboxWarmPool).unwrap_or_default());
    let most = believed.iter().filter(|believed| uid(believed) == pool).map(|pool| wanted(pool)).max();
    let members = store
        .list(Kind::Sandbox)
        .filter(|other| controller_of(other, Kind::SandboxWarmPool) == Some(pool))
        .filter(|other| !witness.is_news(other, sent))
        .count();
    match most {
        None => {
            Err(format!("{} is made for pool {pool}, which the operator was never told of", name(member)))
        }
        Some(most) if members > most && sent.is_in_charge => {
            Err(format!("{} makes {members} members of pool {pool}, which wants {most}", name(member)))
        }
        Some(_) => Ok(()),
    }
}

/// How many members a pool may have at most.
fn wanted(pool: &Value) -> usize {
    let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
    let spec = &pool["spec"];
    let size = match (number(&spec["minSize"]), number(&spec["maxSize"])) {
        (None, None) => number(&spec["replicas"]).unwrap_or_default(),
        (least, most) => most.unwrap_or(usize::MAX).max(least.unwrap_or_default()),
    };
    let surge = &spec["updateStrategy"]["maxSurge"];
    let percent = surge.as_str().and_then(|text| text.trim_end_matches('%').parse::<usize>().ok());
    size.saturating_add(
        number(surge).unwrap_or_default() + percent.map_or(0, |part| (size * part).div_ceil(100)),
    )
}

/// Whether something may be deleted: its owner, as last served, says so.
fn may_go(kind: Kind, object: &Value, sent: &Sent, now: Timestamp) -> Verdict {
    let any = |kind: Kind, allows: &dyn Fn(&Value) -> bool| {
        let owner = controller_name(object, kind).unwrap_or_default();
        let of_ours = |believed: &&std::sync::Arc<Value>| Some(uid(believed)) == controller_of(object, kind);
        sent.believed(kind, owner).iter().filter(of_ours).any(|owner| allows(owner))
    };
    let is_allowed = match kind {
        // Whoever asked it to go did so before. Whether it may be forced shows where it runs.
        Kind::Pod if is_deleting(object) => true,
        Kind::Pod => any(Kind::Sandbox, &|sandbox| {
            sandbox["spec"]["operatingMode"] == "Suspended" || is_over(&sandbox["spec"], now)
        }),
        // Which member goes is the pool's to choose.
        Kind::Sandbox if controller_of(object, Kind::SandboxWarmPool).is_some() => {
            any(Kind::SandboxWarmPool, &|_| true)
        }
        Kind::Sandbox if controller_of(object, Kind::SandboxClaim).is_some() => {
            any(Kind::SandboxClaim, &|claim| has_expired(claim, now) || is_told_of_another(claim, object))
        }
        Kind::Sandbox => is_over(&object["spec"], now),
        Kind::SandboxClaim => has_expired(object, now),
        Kind::Service => any(Kind::Sandbox, &|_| true),
        Kind::NetworkPolicy => any(Kind::SandboxTemplate, &|_| true),
        // Templates, pools and volumes; short spellings are not served here.
        _ => false,
    };
    if is_allowed {
        Ok(())
    } else {
        Err(format!("{} {} is deleted, and nobody asked for it", kind.name(), name(object)))
    }
}

/// Whether a Sandbox is one too many: users know another.
fn is_told_of_another(claim: &Value, sandbox: &Value) -> bool {
    let told = claim["status"]["sandbox"]["name"].as_str().unwrap_or_default();
    !told.is_empty() && told != name(sandbox)
}

pub(crate) fn has_expired(claim: &Value, now: Timestamp) -> bool {
    is_over(&claim["spec"]["lifecycle"], now)
}

pub(crate) fn is_over(life: &Value, now: Timestamp) -> bool {
    let end = life["shutdownTime"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
    end.is_some_and(|end| end <= now)
}
