//! Decides what one SandboxClaim needs next: a Sandbox of its own, warm or fresh, that bears what the claim asks for and
//! goes when the claim ends.
//!
//! Which warm Sandbox is decided by [`allocation`](crate::allocation); here it is only asked for ([`Step::Allocate`]), and
//! [`launch`] goes on with the answer. The doing is left to the operator: after every [`Step::Act`] it observes and plans
//! again, until there is nothing left but to [`Step::Tell`].
//!
//! **Invariant.** The version-locked change of a Sandbox's owner is the one commit point. All before it may be lost, and
//! all after it (status, annotations) is made again from the Sandbox itself.

mod annotations;
mod binding;
mod cold;
mod env;
mod events;
mod expiry;
mod measure;
mod metadata;
mod observed;
mod problem;
mod status;
mod story;
mod sync;
mod syntax;
mod transfer;
mod volumes;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use asb_types::names;
use jiff::{SignedDuration, Timestamp};

use crate::allocation::Cold;
use crate::object::Key;
use crate::report::Event;
use crate::views::{Request, SandboxView};
use crate::write::{Deleting, Kind, Write};
use binding::Binding;
use expiry::Expiry;

pub use binding::recorded_name;
pub use expiry::stumbled;
pub use measure::{FirstReady, first_observed, has_no_story};
pub use observed::{Observed, Referenced, Settings, Sighting, Source};
pub use problem::Problem;
pub use status::{Standing, Told, status};
pub use story::{Launched, Start};

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub step: Step,
    /// To be told once the step's writes are done.
    pub events: Vec<Event>,
    /// To be remembered once the step's writes are done, and observed from then on.
    pub launched: Option<Launched>,
    pub look_again: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The claim is going. These are the last writes; there is nothing to tell.
    Done(Vec<Write>),
    /// What the caches hold is not enough to go by: read these Sandboxes from the server, then plan again.
    Read(Vec<Key>),
    /// Ask the book for this, then [`launch`] with its answer.
    Allocate(Request),
    /// The Sandbox that the book handed out is not what it was. Withdraw it and ask again.
    Unfit(Key),
    /// Carry these out in order, then observe and plan again.
    Act(Vec<Write>),
    /// Nothing to do and nothing new to tell, until woken.
    Wait,
    /// Nothing is left to do but to write the [`status()`].
    Tell(Standing),
}

impl Plan {
    fn new(step: Step) -> Self {
        Self { step, events: Vec::new(), launched: None, look_again: None }
    }

    fn tell(standing: Standing) -> Self {
        Self::new(Step::Tell(standing))
    }

    fn problem(problem: Problem) -> Self {
        Self::tell(Standing::problem(problem))
    }

    fn act(writes: Vec<Write>) -> Self {
        Self::new(Step::Act(writes))
    }

    fn with_event(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }

    fn again_at(mut self, at: Timestamp) -> Self {
        self.look_again = Some(self.look_again.map_or(at, |before| before.min(at)));
        self
    }
}

/// What the book answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer<'a> {
    /// The member that it handed out, as it is now.
    Adopt(&'a SandboxView),
    Wait {
        until: Timestamp,
    },
    Cold(Cold),
}

/// For so long a claim waits without a word, as clients are used to.
const QUIET: SignedDuration = SignedDuration::from_secs(2);
/// How soon to look whether a name that is taken has become free, should its deletion go unnoticed.
const TAKEN_FOR: SignedDuration = SignedDuration::from_secs(5);

/// Total and deterministic.
pub fn plan(observed: &Observed<'_>, now: Timestamp) -> Plan {
    let claim = observed.claim;
    if claim.metadata.is_deleting() {
        return Plan::new(Step::Done(legacy_policy(observed).into_iter().collect()));
    }
    match expiry::of(claim, &claim.status.conditions, now) {
        Expiry::Expired { at } => expiry::expire(observed, at, now),
        Expiry::Never => serve(observed, now),
        Expiry::At(at) => serve(observed, now).again_at(at),
    }
}

/// Goes on from [`Step::Allocate`] with what the book answered.
pub fn launch(observed: &Observed<'_>, answer: Answer<'_>, now: Timestamp) -> Plan {
    match answer {
        Answer::Adopt(candidate) if binding::is_fit(observed.claim, candidate) => {
            adopt(observed, candidate, now)
        }
        Answer::Adopt(candidate) => Plan::new(Step::Unfit(candidate.metadata.key.clone())),
        Answer::Wait { until } => wait(observed, Problem::Waiting, until, now),
        Answer::Cold(why) => start(observed, Start::from(why), now),
    }
}

fn serve(observed: &Observed<'_>, now: Timestamp) -> Plan {
    let bound = binding::chosen(observed);
    let valid = metadata::validate(&observed.claim.additional_pod_metadata, &observed.settings.label_domains);
    if let Err(problem) = valid {
        return Plan::tell(Standing { sandbox: bound.cloned().map(Box::new), ..Standing::problem(problem) });
    }
    if let Some((name, problem)) = observed.broken.filter(|_| bound.is_none()) {
        return Plan::problem(Problem::unreadable(Kind::Sandbox, name, problem));
    }
    match binding::find(observed) {
        Binding::Bound(sandbox) => keep(observed, sandbox, now),
        Binding::Departing(sandbox) => Plan::problem(Problem::Departing(sandbox.metadata.name().to_owned())),
        Binding::Unsure(keys) => Plan::new(Step::Read(keys)),
        Binding::Lost(name) => match binding::surplus(observed, None) {
            none if none.is_empty() => Plan::problem(Problem::Lost(name)),
            late => Plan::act(late),
        },
        Binding::Recorded(sandbox) => adopt(observed, sandbox, now),
        Binding::Taken(sandbox) => {
            let problem = Problem::name_taken(sandbox.metadata.name(), observed.claim.metadata.name());
            Plan::problem(problem).again_at(now.saturating_add(TAKEN_FOR).unwrap_or(Timestamp::MAX))
        }
        Binding::Unbound => obtain(observed, now),
    }
}

/// The claim has its Sandbox: makes it bear what the claim asks for, and lets go of any other once users know which.
fn keep(observed: &Observed<'_>, sandbox: &SandboxView, now: Timestamp) -> Plan {
    let told = |problem| Standing { sandbox: Some(Box::new(sandbox.clone())), problem, is_expired: false };
    let surplus = binding::surplus(observed, Some(sandbox));
    let is_told = binding::assigned_name(observed.claim) == sandbox.metadata.name();
    match sync::correct(observed, sandbox) {
        Err(problem) => Plan::tell(told(Some(problem))),
        Ok(Some(correction)) => Plan::act(vec![correction]),
        Ok(None) if surplus.is_empty() => Plan::tell(told(None)),
        Ok(None) if is_told => Plan::act(surplus),
        Ok(None) => Plan::tell(told(None)).again_at(now),
    }
}

/// The claim has no Sandbox, and nothing points to one.
fn obtain(observed: &Observed<'_>, now: Timestamp) -> Plan {
    let claim = observed.claim;
    if let Err(problem) = references(observed) {
        return Plan::problem(problem);
    }
    if let Some(cold) = Start::forced(claim).or_else(|| begun(observed)) {
        return start(observed, cold, now);
    }
    Plan::new(Step::Allocate(claim.request.clone()))
}

/// Why the claim was to start cold, if that was begun and nobody knows what came of it: the create may yet take effect, and
/// only a create of the same name meets it.
fn begun(observed: &Observed<'_>) -> Option<Start> {
    let is_untold = binding::assigned_name(observed.claim).is_empty();
    observed.launched.map(|launched| launched.start).filter(|start| is_untold && start.is_cold())
}

/// Whether what the claim refers to lets it have a Sandbox at all, so that no member is taken in vain.
fn references(observed: &Observed<'_>) -> Result<(), Problem> {
    let claim = observed.claim;
    if let Request::Pool(pool) = &claim.request {
        match &observed.pool {
            Referenced::Missing => return Err(Problem::pool_missing(pool)),
            Referenced::Unreadable(problem) => {
                return Err(Problem::unreadable(Kind::SandboxWarmPool, pool, problem));
            }
            Referenced::There(_) => {}
        }
    }
    match &observed.template {
        Referenced::There(template) => metadata::desired(claim, template).map(drop),
        Referenced::Unreadable(problem) => {
            Err(Problem::unreadable(Kind::SandboxTemplate, &template_name(observed), problem))
        }
        Referenced::Missing if !claim.additional_pod_metadata.is_empty() => {
            Err(Problem::template_missing(&template_name(observed)))
        }
        Referenced::Missing => Ok(()),
    }
}

/// The name of the template that serves the claim.
fn template_name(observed: &Observed<'_>) -> String {
    match &observed.claim.request {
        Request::Template { template, .. } | Request::Fresh { template, .. } => template.clone(),
        Request::Pool(_) => observed.pool.there().map_or_else(String::new, |pool| pool.template.clone()),
    }
}

fn adopt(observed: &Observed<'_>, candidate: &SandboxView, now: Timestamp) -> Plan {
    match transfer::transfer(observed, candidate) {
        Err(problem) => Plan::problem(problem),
        Ok(write) => Plan {
            launched: Some(Launched::warm(candidate, now)),
            ..Plan::act(vec![write]).with_event(events::adopted(candidate.metadata.name()))
        },
    }
}

/// What takes a moment is told only when it takes longer.
fn wait(observed: &Observed<'_>, problem: Problem, until: Timestamp, now: Timestamp) -> Plan {
    let quiet_until = observed.first_observed.saturating_add(QUIET).unwrap_or(Timestamp::MAX);
    if now < quiet_until {
        return Plan::new(Step::Wait).again_at(until.min(quiet_until));
    }
    Plan::problem(problem).again_at(until)
}

/// A fresh Sandbox from the template.
fn start(observed: &Observed<'_>, why: Start, now: Timestamp) -> Plan {
    let claim = observed.claim;
    let Some(template) = observed.template.there() else {
        return Plan::problem(Problem::template_missing(&template_name(observed)));
    };
    if let Some(why) = observed.exposure {
        let problem = Problem::exposed(template.metadata.name(), why);
        return wait(observed, problem, Timestamp::MAX, now);
    }
    if let Some(namesake) = observed.namesake.filter(|namesake| namesake.metadata.is_deleting()) {
        return Plan::problem(Problem::Departing(namesake.metadata.name().to_owned()));
    }
    match cold::create(observed, template) {
        Err(problem) => Plan::problem(problem),
        Ok(write) => Plan {
            launched: Some(Launched::cold(why, claim, template, now)),
            ..Plan::act(vec![write])
                .with_event(events::provisioned(&names::cold_sandbox(claim.metadata.name())))
        },
    }
}

fn legacy_policy(observed: &Observed<'_>) -> Option<Write> {
    let policy = observed.legacy_policy.filter(|policy| {
        policy.metadata.is_owned_by(&observed.claim.metadata.uid) && !policy.metadata.is_deleting()
    })?;
    Some(Write::delete(Kind::NetworkPolicy, &policy.metadata, Deleting::Background))
}
