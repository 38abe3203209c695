//! Which Sandbox is the claim's: the one that it controls by UID, whatever names say. Names only tell where to look, and
//! that there was one once.

use asb_types::hash::fnv1a_hex;
use asb_types::lifecycle::LostSandboxPolicy;
use asb_types::{annotations, labels};
use jiff::Timestamp;

use super::syntax::is_subdomain;
use super::{Observed, Sighting, Source, expiry};
use crate::object::Key;
use crate::views::{ClaimView, Request, SandboxView};
use crate::write::{Deleting, Kind, Write};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Binding<'a> {
    Bound(&'a SandboxView),
    /// It was the claim's, is on its way out, and nobody is to be sent there.
    Departing(&'a SandboxView),
    /// A cache may lag behind: these must be read before anything is concluded.
    Unsure(Vec<Key>),
    /// The claim had a Sandbox of this name, and has none.
    Lost(String),
    /// Another operator had promised the claim this member of a pool and did not get to hand it over.
    Recorded(&'a SandboxView),
    /// A Sandbox of somebody else bears the claim's name.
    Taken(&'a SandboxView),
    Unbound,
}

pub(super) fn find<'a>(observed: &Observed<'a>) -> Binding<'a> {
    if let Some(sandbox) = chosen(observed) {
        return if is_departing(observed.claim, sandbox) {
            Binding::Departing(sandbox)
        } else {
            Binding::Bound(sandbox)
        };
    }
    by_status(observed).or_else(|| by_record(observed)).unwrap_or_else(|| by_own_name(observed))
}

/// Whether users may be told of it: not if they know another, unless any would do. One that was handed over too late, when
/// the claim had got another and lost it, would hide the loss.
fn may_be_told(claim: &ClaimView, sandbox: &SandboxView) -> bool {
    let told = assigned_name(claim);
    told.is_empty()
        || told == sandbox.metadata.name()
        || claim.lost_sandbox_policy == LostSandboxPolicy::Replace
        || expiry::told(claim).is_some()
}

/// Of the Sandboxes that the claim controls and users may be told of, the one it is known by; the eldest where it is known
/// by none.
pub(super) fn chosen<'a>(observed: &Observed<'a>) -> Option<&'a SandboxView> {
    let claim = observed.claim;
    controlled(observed)
        .filter(|sandbox| may_be_told(claim, sandbox))
        .min_by_key(|sandbox| rank(claim, sandbox))
}

/// The same of a claim that is over, and sends nobody anywhere.
pub(super) fn last<'a>(observed: &Observed<'a>) -> Option<&'a SandboxView> {
    controlled(observed).min_by_key(|sandbox| rank(observed.claim, sandbox))
}

fn controlled<'a>(observed: &Observed<'a>) -> impl Iterator<Item = &'a SandboxView> {
    let of_server =
        [observed.assigned, observed.recorded].into_iter().filter_map(|sighting| sighting.sandbox);
    let known = observed.bound.iter().copied().chain(of_server.chain(observed.namesake));
    let claim = observed.claim;
    known.filter(|sandbox| sandbox.metadata.is_owned_by(&claim.metadata.uid))
}

fn rank(claim: &ClaimView, sandbox: &SandboxView) -> (usize, Timestamp, Key) {
    let names = [Some(assigned_name(claim)), recorded_name(claim), Some(claim.metadata.name())];
    let place = names.iter().position(|name| *name == Some(sandbox.metadata.name())).unwrap_or(names.len());
    (place, sandbox.metadata.created, sandbox.metadata.key.clone())
}

/// Sandboxes that the claim controls besides this one, if it has one: a claim has one at most.
pub(super) fn surplus(observed: &Observed<'_>, kept: Option<&SandboxView>) -> Vec<Write> {
    let others = observed.bound.iter().filter(|other| {
        kept.is_none_or(|kept| other.metadata.uid != kept.metadata.uid)
            && other.metadata.is_owned_by(&observed.claim.metadata.uid)
            && !other.metadata.is_deleting()
    });
    others.map(|other| Write::delete(Kind::Sandbox, &other.metadata, Deleting::Background)).collect()
}

/// Whether a pool's member may become the claim's.
pub(super) fn is_fit(claim: &ClaimView, sandbox: &SandboxView) -> bool {
    let metadata = &sandbox.metadata;
    let owner = metadata.owner.as_ref().filter(|owner| owner.is(Kind::SandboxWarmPool));
    let is_wanted = match &claim.request {
        Request::Pool(pool) => owner.is_some_and(|owner| *owner.name == **pool),
        Request::Template { template, .. } => {
            owner.is_some() && metadata.label(labels::TEMPLATE_REF_HASH) == Some(&fnv1a_hex(template))
        }
        Request::Fresh { .. } => false,
    };
    is_wanted
        && metadata.key.namespace == claim.metadata.key.namespace
        && !metadata.is_deleting()
        && metadata.label(labels::WARM_POOL).is_some()
        && metadata.label(labels::TEMPLATE_REF_HASH).is_some()
}

/// The name in the status.
pub(super) fn assigned_name(claim: &ClaimView) -> &str {
    &claim.status.sandbox.name
}

/// The name in the annotation, or in the label that came before it. Annotations are anybody's to write, and what no
/// Sandbox can be called leads nowhere.
pub fn recorded_name(claim: &ClaimView) -> Option<&str> {
    let label = claim.metadata.label(labels::LEGACY_SANDBOX_NAME);
    claim.metadata.annotation(annotations::SANDBOX_NAME).or(label).filter(|name| is_subdomain(name))
}

/// A Sandbox that goes before users were told of it, or because the claim had expired, is not lost: another follows.
fn is_departing(claim: &ClaimView, sandbox: &SandboxView) -> bool {
    sandbox.metadata.is_deleting() && (expiry::told(claim).is_some() || assigned_name(claim).is_empty())
}

fn by_status<'a>(observed: &Observed<'a>) -> Option<Binding<'a>> {
    let claim = observed.claim;
    let name = Some(assigned_name(claim)).filter(|name| !name.is_empty())?;
    let had_expired = expiry::told(claim).is_some();
    match (observed.assigned.source, claim.lost_sandbox_policy) {
        (Source::Cache, _) => Some(Binding::Unsure(vec![claim.metadata.key.sibling(name)])),
        (Source::Server, LostSandboxPolicy::Report) if !had_expired => Some(Binding::Lost(name.to_owned())),
        (Source::Server, _) => None,
    }
}

fn by_record<'a>(observed: &Observed<'a>) -> Option<Binding<'a>> {
    let claim = observed.claim;
    let name = recorded_name(claim).filter(|name| *name != assigned_name(claim))?;
    match observed.recorded {
        Sighting { sandbox: Some(sandbox), .. } if is_fit(claim, sandbox) && !claim.needs_fresh_sandbox() => {
            Some(Binding::Recorded(sandbox))
        }
        Sighting { source: Source::Cache, .. } => {
            Some(Binding::Unsure(vec![claim.metadata.key.sibling(name)]))
        }
        Sighting { source: Source::Server, .. } => None,
    }
}

fn by_own_name<'a>(observed: &Observed<'a>) -> Binding<'a> {
    match observed.namesake {
        Some(sandbox) if !sandbox.metadata.is_deleting() => Binding::Taken(sandbox),
        _ => Binding::Unbound,
    }
}
