//! The status of a pool, what is said about it in events, and when it is time to write it: counts that come and go
//! within a moment are not worth a write.

use asb_types::conditions::{PROGRESSING, READY, pool_progressing, pool_ready};
use asb_types::names;
use asb_types::v1beta1::SandboxWarmPoolStatus;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::{Observed, Plan, Standing};
use crate::conditions::{self, Verdict};
use crate::patch;
use crate::report::{Event, Failure, Severity, error_seen};
use crate::write::{Kind, Write};

/// Counts are written when they have differed for so long, and at most so often.
const PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// When the status last said something else than it should, and when it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Debounce {
    differs_since: Option<Timestamp>,
    written: Option<Timestamp>,
}

/// What is to be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub write: Option<Write>,
    pub events: Vec<Event>,
    /// When the write is due that is not due yet.
    pub look_again: Option<Timestamp>,
    /// What to remember, as if what is told here was told.
    pub debounce: Debounce,
}

/// After the plan was carried out, or failed.
pub fn report(observed: &Observed<'_>, plan: &Plan, failure: Option<&Failure>, now: Timestamp) -> Report {
    let pool = observed.pool;
    let status = status(observed, &plan.standing, failure, now);
    let mut debounce = plan.memory.status.clone();
    let silent = Report { write: None, events: Vec::new(), look_again: None, debounce: Debounce::default() };
    let change = patch::difference(&json!(pool.status), &json!(status));
    let Some(change) = change.filter(|_| !pool.metadata.is_deleting()) else {
        debounce.differs_since = None;
        return Report { debounce, ..silent };
    };
    let due = debounce.due(is_urgent(&pool.status, &status), now);
    if now < due {
        return Report { look_again: Some(due), debounce, ..silent };
    }
    let write = Write::patch_status(Kind::SandboxWarmPool, &pool.metadata, json!({"status": change}));
    let debounce = Debounce { differs_since: None, written: Some(now) };
    Report { write: Some(write), events: events(&pool.status, &status), debounce, ..silent }
}

impl Debounce {
    fn due(&mut self, is_urgent: bool, now: Timestamp) -> Timestamp {
        let since = *self.differs_since.get_or_insert(now);
        // Times that are yet to come are from before the clock was set back.
        if is_urgent || since > now {
            return now;
        }
        let written = self.written.filter(|written| *written <= now);
        written.map_or(since + PAUSE, |written| (since + PAUSE).max(written + PAUSE))
    }
}

/// What somebody waits for, or should know at once.
fn is_urgent(old: &SandboxWarmPoolStatus, new: &SandboxWarmPoolStatus) -> bool {
    let reason = |status: &SandboxWarmPoolStatus, type_| {
        conditions::find(&status.conditions, type_).map(|condition| condition.reason.clone())
    };
    let routine = [pool_ready::FULL, pool_ready::FILLING, pool_ready::RECONCILER_ERROR];
    let is_routine =
        |reason: &Option<String>| reason.as_deref().is_some_and(|reason| routine.contains(&reason));
    let (before, after) = (reason(old, READY), reason(new, READY));
    old.observed_generation != new.observed_generation
        || before != after && !(is_routine(&before) && is_routine(&after))
        || reason(old, PROGRESSING) != reason(new, PROGRESSING)
}

fn status(
    observed: &Observed<'_>,
    standing: &Standing,
    failure: Option<&Failure>,
    now: Timestamp,
) -> SandboxWarmPoolStatus {
    let pool = observed.pool;
    let generation = pool.metadata.generation;
    let mut list = pool.status.conditions.clone();
    conditions::set(&mut list, READY, ready(standing, failure), generation, now);
    conditions::set(&mut list, PROGRESSING, progressing(observed, standing), generation, now);
    SandboxWarmPoolStatus {
        replicas: counted(standing.active),
        ready_replicas: counted(standing.ready),
        desired_replicas: Some(counted(standing.wanted)),
        selector: names::pool_selector(pool.metadata.name()),
        observed_generation: generation,
        conditions: list,
    }
}

/// Kubernetes counts replicas in 32 bits.
fn counted(members: usize) -> i32 {
    members.try_into().unwrap_or(i32::MAX)
}

fn ready(standing: &Standing, failure: Option<&Failure>) -> Verdict {
    match (&standing.refusal, failure) {
        (Some(refusal), _) => Verdict::new(false, refusal.reason(), refusal.message()),
        (None, Some(Failure::Permanent(problem))) => {
            Verdict::new(false, pool_ready::INVALID_CONFIGURATION, problem.clone())
        }
        (None, Some(Failure::Transient(problem))) => {
            Verdict::new(false, pool_ready::RECONCILER_ERROR, error_seen(problem))
        }
        (None, None) => {
            let is_full = standing.ready >= standing.wanted;
            let reason = if is_full { pool_ready::FULL } else { pool_ready::FILLING };
            Verdict::new(is_full, reason, count(standing))
        }
    }
}

fn count(standing: &Standing) -> String {
    let ready = format!("{} of {} Sandboxes are ready", standing.ready, standing.wanted);
    let sized = standing.reason.as_ref().map(|reason| format!("sized by {reason}"));
    let unlike = (standing.unlike > 0).then(|| {
        let unlike = standing.unlike;
        format!("{unlike} more bear the pool's label, belong to nobody and are not of its template: they are left alone")
    });
    [Some(ready), sized, unlike].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn progressing(observed: &Observed<'_>, standing: &Standing) -> Verdict {
    if let Some(refusal) = &standing.refusal {
        return Verdict::new(false, refusal.reason(), refusal.message());
    }
    if standing.held == 0 {
        return Verdict::new(true, pool_progressing::PROGRESSING, "Warm pool is progressing");
    }
    let grace = observed.settings.readiness_grace;
    let message = format!(
        "{}/{} sandboxes are unschedulable past the {grace:#} readiness grace period; holding them until a node can \
         take them",
        standing.held, standing.active
    );
    Verdict::new(false, pool_progressing::NOT_PROGRESSING, message)
}

/// Told when it changes, by what the status said before, so that a restart tells nothing twice.
fn events(old: &SandboxWarmPoolStatus, new: &SandboxWarmPoolStatus) -> Vec<Event> {
    let told = |status: &SandboxWarmPoolStatus| {
        let condition = conditions::find(&status.conditions, PROGRESSING)?;
        Some((condition.reason.clone(), condition.message.clone()))
    };
    let was_held = told(old).is_some_and(|(reason, _)| reason == pool_progressing::NOT_PROGRESSING);
    let event = |severity, reason, note| Event { severity, reason, action: "Reconciling", note };
    match told(new) {
        Some((reason, message)) if reason == pool_progressing::NOT_PROGRESSING && !was_held => {
            vec![event(Severity::Warning, pool_progressing::NOT_PROGRESSING, message)]
        }
        Some((reason, _)) if reason == pool_progressing::PROGRESSING && was_held => {
            let note = "Warm pool is progressing again".to_owned();
            vec![event(Severity::Normal, pool_progressing::PROGRESSING, note)]
        }
        _ => Vec::new(),
    }
}
