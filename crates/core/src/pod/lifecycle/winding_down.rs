//! The end of a Pod: containers stop, sidecars after the others and in reverse order; then the sandbox and the volumes go;
//! and if somebody deleted the Pod, everything else and at last the object.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::PodSpec;

use super::stopping::{self, Stopping};
use super::{Action, Halt, Plan, Sight, name};
use crate::pod::clock;
use crate::pod::member::{Member, Role, members};
use crate::pod::observed::{Cause, Container, Ending, SandboxState, Stop, StopCause, Volumes};

pub(super) fn steps(spec: &PodSpec, sight: Sight<'_>, ending: &Ending, plan: &mut Plan) {
    let grace = |member: Member<'_>| grace(spec, member, sight, ending);
    let members = members(spec);
    if !stop_all(&members, sight, ending.since, &grace, plan) {
        clear(&members, sight, plan);
    }
}

/// The same without an end: containers stop, and everything else stays for whoever comes next.
pub(super) fn rest(spec: &PodSpec, sight: Sight<'_>, halt: Halt, plan: &mut Plan) {
    let grace = |member: Member<'_>| stopping::grace(spec, member, StopCause::Pod);
    stop_all(&members(spec), sight, halt.since, &grace, plan);
}

/// Whether there is anything left to stop.
fn stop_all(
    members: &[Member<'_>],
    sight: Sight<'_>,
    since: Timestamp,
    grace: &dyn Fn(Member<'_>) -> Duration,
    plan: &mut Plan,
) -> bool {
    let live =
        |member: &Member<'_>| sight.observed.container(member.name()).and_then(Container::live).is_some();
    for (place, member) in members.iter().enumerate().filter(|(_, member)| live(member)) {
        let turn = is_turn(*member, place, members, &live);
        stop(*member, turn, sight, since, grace(*member), plan);
    }
    members.iter().any(live)
}

/// A sidecar waits for the containers proper and for the sidecars after it.
fn is_turn(
    member: Member<'_>,
    place: usize,
    members: &[Member<'_>],
    live: &dyn Fn(&Member<'_>) -> bool,
) -> bool {
    let waits_for = |(other_place, other): (usize, &Member<'_>)| match other.role {
        Role::Main => live(other),
        Role::Sidecar => other_place > place && live(other),
        Role::Init => false,
    };
    member.role != Role::Sidecar || !members.iter().enumerate().any(waits_for)
}

fn stop(
    member: Member<'_>,
    turn: bool,
    sight: Sight<'_>,
    since: Timestamp,
    grace: Duration,
    plan: &mut Plan,
) {
    let Some(attempt) = sight.observed.attempt(member.name()) else { return };
    let begun = attempt.stop.clone();
    let stop = begun.clone().unwrap_or_else(|| Stop::begin(StopCause::Pod, grace, sight.now));
    let deadline = clock::later(stop.begun, stop.grace).min(latest(since, grace, stop.begun));
    let deadline = sight.halt.map_or(deadline, |halt| deadline.min(clock::later(halt.since, halt.grace)));
    let stopping = Stopping { member, attempt, stop: &stop, deadline, turn, now: sight.now };
    if begun.is_some() { stopping.steps(plan) } else { stopping.begin(plan) }
}

/// By when the whole Pod must be down. A clock that was set back counts from the stop.
fn latest(since: Timestamp, grace: Duration, begun: Timestamp) -> Timestamp {
    clock::later(since.min(begun), grace)
}

/// Who deletes a Pod may say how long it has; nobody waits for one that was refused.
fn grace(spec: &PodSpec, member: Member<'_>, sight: Sight<'_>, ending: &Ending) -> Duration {
    let asked = sight.pod.metadata.deletion_grace_period_seconds;
    match (&ending.cause, asked) {
        (_, Some(seconds)) if sight.pod.metadata.deletion_timestamp.is_some() => clock::seconds(seconds),
        (Cause::Refused { .. }, _) => Duration::ZERO,
        _ => stopping::grace(spec, member, StopCause::Pod),
    }
}

/// What is left once nothing runs.
fn clear(members: &[Member<'_>], sight: Sight<'_>, plan: &mut Plan) {
    let observed = sight.observed;
    let held = observed
        .sandbox
        .as_ref()
        .filter(|sandbox| !matches!(sandbox.state, SandboxState::Gone | SandboxState::Failed(_)));
    if let Some(sandbox) = held {
        if sandbox.state != SandboxState::Removing {
            plan.push(Action::RemoveSandbox { attempt: sandbox.attempt });
        }
        return;
    }
    match observed.volumes {
        Volumes::Releasing => return,
        Volumes::Absent => {}
        Volumes::Preparing | Volumes::Ready | Volumes::Failed(_) => return plan.push(Action::ReleaseVolumes),
    }
    if sight.pod.metadata.deletion_timestamp.is_some() {
        forget(members, sight, plan);
    }
}

/// Once the end has been told, clears away what is kept for readers of logs, then the object.
fn forget(members: &[Member<'_>], sight: Sight<'_>, plan: &mut Plan) {
    let phase = sight.pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let is_told = matches!(phase, Some("Succeeded" | "Failed"));
    // With no grace left the API server has let go of it already, and only finalizers of others hold it.
    let is_held = sight.pod.metadata.deletion_grace_period_seconds == Some(0);
    if !is_told && !is_held {
        return;
    }
    for member in members {
        let Some(container) = sight.observed.container(member.name()) else { continue };
        let current = container.current.as_ref().map(|attempt| attempt.number);
        for attempt in container.leftover.iter().copied().chain(current) {
            plan.push(Action::Remove { container: name(*member), attempt });
        }
    }
    if plan.actions.is_empty() && !is_held {
        plan.push(Action::DeletePod);
    }
}
