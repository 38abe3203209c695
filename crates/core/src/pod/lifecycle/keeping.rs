//! One container that may run: started, watched, stopped when it fails, and started again.

use std::time::Duration;

use k8s_openapi::api::core::v1::PodSpec;

use super::stopping::{self, Stopping};
use super::{Action, Plan, Sight, image, name};
use crate::pod::backoff::Backoff;
use crate::pod::clock;
use crate::pod::member::{Member, Role, members};
use crate::pod::observed::{Attempt, Container, Hook, State, Stop, StopCause};
use crate::pod::probe::{ProbeKind, Verdict};

/// How long after a container could not be created it is tried again.
const TROUBLED: Duration = Duration::from_secs(10);

pub(super) fn steps(spec: &PodSpec, member: Member<'_>, sight: Sight<'_>, sandbox: u32, plan: &mut Plan) {
    match sight.observed.attempt(member.name()) {
        None => start(spec, member, sight, 0, plan),
        Some(attempt) if attempt.is_live() && attempt.sandbox == sandbox => {
            watch(spec, member, attempt, sight, plan);
        }
        Some(attempt) if attempt.is_live() => kill(member, attempt, plan),
        Some(attempt) if is_wanted_again(spec, member, attempt, sandbox) => {
            start(spec, member, sight, attempt.number + 1, plan);
        }
        Some(_) => {}
    }
}

/// After its end in this sandbox by its policy; after the loss of a sandbox also what had run to its end in it.
fn is_wanted_again(spec: &PodSpec, member: Member<'_>, attempt: &Attempt, sandbox: u32) -> bool {
    let was_init = member.role == Role::Init && attempt.sandbox != sandbox;
    was_init || member.restarts(spec, attempt)
}

fn start(spec: &PodSpec, member: Member<'_>, sight: Sight<'_>, attempt: u32, plan: &mut Plan) {
    let nothing = Container::default();
    let container = sight.observed.container(member.name()).unwrap_or(&nothing);
    let failed = container.current.as_ref().and_then(Attempt::exit).map(|exit| exit.finished);
    let wait = failed
        .and_then(|failed| clock::remaining(failed, Backoff::wait(container.backoff, failed), sight.now));
    let troubled =
        container.trouble.as_ref().and_then(|trouble| clock::remaining(trouble.at, TROUBLED, sight.now));
    if let Some(then) = wait.or(troubled) {
        plan.look(then);
    } else if image::is_ready(member, attempt, sight, plan) && !is_held_up(spec, member, sight) {
        let backoff = failed.map(|failed| Backoff::next(container.backoff, failed, sight.now));
        plan.push(Action::Start { container: name(member), attempt, backoff });
    }
}

/// Whether a container before it in the list has yet to finish its hook: kubelets start them one after the other.
fn is_held_up(spec: &PodSpec, member: Member<'_>, sight: Sight<'_>) -> bool {
    let before = members(spec).into_iter().take_while(|other| other.name() != member.name());
    let mut main = before.filter(|other| other.role == Role::Main && other.has_post_start());
    main.any(|other| {
        let attempt = sight.observed.attempt(other.name());
        attempt.is_some_and(|attempt| {
            attempt.is_live() && matches!(attempt.post_start, Hook::Waiting | Hook::Running)
        })
    })
}

fn watch(spec: &PodSpec, member: Member<'_>, attempt: &Attempt, sight: Sight<'_>, plan: &mut Plan) {
    if let Some(stop) = &attempt.stop {
        let deadline = clock::later(stop.begun, stop.grace);
        Stopping { member, attempt, stop, deadline, turn: true, now: sight.now }.steps(plan);
        return;
    }
    if let State::Creating = attempt.state {
        return;
    }
    if member.has_post_start() && attempt.post_start == Hook::Waiting {
        plan.push(Action::RunPostStart { container: name(member), attempt: attempt.number });
    }
    match failure(member, attempt) {
        Some(cause) => {
            let stop = Stop::begin(cause, stopping::grace(spec, member, cause), sight.now);
            let deadline = clock::later(stop.begun, stop.grace);
            Stopping { member, attempt, stop: &stop, deadline, turn: true, now: sight.now }.begin(plan);
        }
        None => probes(member, attempt, plan),
    }
}

/// Why a container that runs must not go on.
fn failure(member: Member<'_>, attempt: &Attempt) -> Option<StopCause> {
    let fails = |kind: ProbeKind| {
        kind.of(member.container).is_some()
            && attempt.verdict(kind) == Verdict::Failing
            && member.role != Role::Init
    };
    if matches!(attempt.post_start, Hook::Failed(_)) {
        Some(StopCause::PostStart)
    } else if fails(ProbeKind::Liveness) {
        Some(StopCause::Liveness)
    } else if fails(ProbeKind::Startup) {
        Some(StopCause::Startup)
    } else {
        None
    }
}

/// Starts the probes that are due and stops those that are not: the startup probe goes before the others.
fn probes(member: Member<'_>, attempt: &Attempt, plan: &mut Plan) {
    let hooked = !member.has_post_start() || attempt.post_start == Hook::Done;
    let started = member.has_passed_startup(attempt);
    let is_due = |kind: ProbeKind| {
        let its_turn = if kind == ProbeKind::Startup { !started } else { started };
        member.role != Role::Init && hooked && its_turn && kind.of(member.container).is_some()
    };
    for kind in ProbeKind::ALL {
        match (is_due(kind), attempt.probing.contains(&kind)) {
            (true, false) => {
                plan.push(Action::StartProbe { container: name(member), attempt: attempt.number, kind });
            }
            (false, true) => {
                plan.push(Action::StopProbe { container: name(member), attempt: attempt.number, kind });
            }
            _ => {}
        }
    }
}

/// While there is no sandbox the images of those that start first are made ready, and what is left of a lost one is ended.
pub(super) fn without_sandbox(spec: &PodSpec, sight: Sight<'_>, plan: &mut Plan) {
    for member in members(spec) {
        if let Some(attempt) = sight.observed.attempt(member.name()).filter(|attempt| attempt.is_live()) {
            kill(member, attempt, plan);
        }
    }
    let next = sight.observed.sandbox.as_ref().map_or(0, |sandbox| sandbox.attempt + 1);
    let first = super::starting::due(spec, sight.observed, next);
    let is_new = |member: &&Member<'_>| sight.observed.attempt(member.name()).is_none();
    for member in first.iter().filter(is_new) {
        image::is_ready(*member, 0, sight, plan);
    }
}

fn kill(member: Member<'_>, attempt: &Attempt, plan: &mut Plan) {
    plan.push(Action::Kill { container: name(member), attempt: attempt.number });
}

/// Clears away attempts older than the last that ended, whose log can still be read.
pub(super) fn tidy(member: Member<'_>, sight: Sight<'_>, plan: &mut Plan) {
    let Some(container) = sight.observed.container(member.name()) else { return };
    let newest = container.current.as_ref().map_or(0, |attempt| attempt.number);
    for attempt in container.leftover.iter().filter(|attempt| **attempt + 1 < newest) {
        plan.push(Action::Remove { container: name(member), attempt: *attempt });
    }
}
