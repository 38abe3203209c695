//! Decides what one SandboxWarmPool needs next: members to create, to take over, to mend and to delete. Handing them to
//! claims is left to the claims.
//!
//! What was asked of the API server and not yet seen to happen counts as if it had, so that a pool is never larger than
//! wanted however late its news.

mod census;
mod draft;
mod naming;
mod refill;
mod rollout;
mod sizing;
mod status;
mod validate;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::blueprint::{Blueprint, Eviction};
use crate::object::{Key, Uid};
use crate::views::{PodView, PoolView, SandboxView, TemplateView};
use crate::write::Write;
use census::Census;
use draft::Draft;

pub use refill::Refill;
pub use rollout::hands_out_stale;
pub use sizing::{Demand, Wanted};
pub use status::{Debounce, Report, report};
pub use validate::Refusal;

/// What is known about a pool at one moment.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    pub pool: &'a PoolView,
    /// Why the pool is not served, if another has the hash of its name: see [`collision`](crate::collision).
    pub collision: Option<&'a str>,
    pub template: Template<'a>,
    /// Every Sandbox of the namespace that bears the hash of the pool's name, whosever it is.
    pub members: &'a [Member<'a>],
    pub flights: &'a Flights,
    pub settings: &'a Settings,
    pub memory: &'a Memory,
    /// Any number; another one each time.
    pub chance: u64,
}

/// The template that a pool names.
#[derive(Clone, Debug)]
pub enum Template<'a> {
    Found(&'a TemplateView),
    Missing,
    /// It is there and not fit for use, for this reason.
    Refused(String),
}

#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    pub sandbox: &'a SandboxView,
    pub pod: Option<&'a PodView>,
    /// Whether a claim has it in its hands, or waits for it.
    pub is_expected: bool,
}

/// Writes whose effect has not been seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flights {
    /// By the name of the member.
    pub creates: BTreeMap<Arc<str>, Answer>,
    pub deletes: BTreeMap<Uid, Answer>,
}

impl Flights {
    /// Forgets what got no answer and can be seen to have happened: a member that is there was made, and one that is no
    /// longer among the pool's is not the pool's to delete.
    pub fn settle(&mut self, members: &[Member<'_>]) {
        let seen = || members.iter().map(|member| &member.sandbox.metadata);
        self.creates
            .retain(|name, answer| *answer == Answer::Awaited || seen().all(|it| it.name() != &**name));
        self.deletes.retain(|uid, answer| *answer == Answer::Awaited || seen().any(|it| it.uid == *uid));
    }

    /// Nobody waits for the answers any more.
    pub fn lose(&mut self) {
        self.creates.values_mut().chain(self.deletes.values_mut()).for_each(|answer| *answer = Answer::Lost);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Awaited,
    /// None came: it may have been done or not.
    Lost,
}

/// What the administrator chose for all pools.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The most creates, and the most deletes, of one plan.
    pub max_batch: usize,
    pub replenish_delay: SignedDuration,
    /// Creates a second; 0 for as many as there are to do.
    pub max_refill_rate: f64,
    /// How long a member may take to become ready.
    pub readiness_grace: SignedDuration,
    pub unschedulable_recheck: SignedDuration,
    pub eviction: Eviction,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_batch: 300,
            replenish_delay: SignedDuration::ZERO,
            max_refill_rate: 0.0,
            readiness_grace: SignedDuration::from_mins(5),
            unschedulable_recheck: SignedDuration::from_mins(1),
            eviction: Eviction::Safe,
        }
    }
}

/// What is kept about a pool from one plan to the next. Lost in a restart without harm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    pub refill: Refill,
    pub demand: Demand,
    pub status: Debounce,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub writes: Vec<Write>,
    /// Sandboxes that may be there or not and are not wanted: to be read from the API server.
    pub lookups: Vec<Key>,
    pub look_again: Option<Timestamp>,
    pub standing: Standing,
    pub memory: Memory,
}

/// How the pool stands, for its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub wanted: usize,
    /// Why so many, where demand decides.
    pub reason: Option<String>,
    pub active: usize,
    pub ready: usize,
    /// Members that no node can take.
    pub held: usize,
    /// Sandboxes that bear the pool's label, that nobody owns, and that are not of its template.
    pub unlike: usize,
    pub refusal: Option<Refusal>,
}

/// Total and deterministic.
pub fn plan(observed: &Observed<'_>, now: Timestamp) -> Plan {
    let pool = observed.pool;
    if pool.metadata.is_deleting() {
        return Plan::default();
    }
    let mut memory = observed.memory.clone();
    let wanted = memory.demand.size(pool, now);
    let blueprint = match &observed.template {
        Template::Found(template) => Some(Blueprint::of(template)),
        Template::Missing | Template::Refused(_) => None,
    };
    let census = Census::take(observed, blueprint.as_ref(), now);
    let refusal = validate::refusal(observed);
    let mut draft = Draft::new(observed, memory, now);
    let doomed = if refusal.as_ref().is_some_and(Refusal::is_final) {
        BTreeSet::new()
    } else {
        draft.fill(&census, blueprint.as_ref(), wanted.size)
    };
    draft.plan.standing = standing(&census, &doomed, &wanted, refusal);
    draft.look_again(wanted.again);
    draft.plan
}

fn standing(
    census: &Census<'_>,
    doomed: &BTreeSet<&Uid>,
    wanted: &Wanted,
    refusal: Option<Refusal>,
) -> Standing {
    let staying = || census.active.iter().filter(|member| !doomed.contains(member.uid()));
    Standing {
        wanted: wanted.size,
        reason: wanted.reason.clone(),
        active: staying().count(),
        ready: staying().filter(|member| member.is_ready()).count(),
        held: staying().filter(|member| member.is_held()).count(),
        unlike: census.unlike,
        refusal,
    }
}

/// Times in objects are anybody's to write, and may be the last there is.
fn after(at: Timestamp, wait: SignedDuration) -> Timestamp {
    at.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
