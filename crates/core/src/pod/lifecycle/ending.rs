//! Whether a Pod that has lived so far ends now, and why.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::PodSpec;

use super::{Plan, Sight};
use crate::pod::clock;
use crate::pod::member::{Role, members, started};
use crate::pod::observed::{Attempt, Cause, Observed, SandboxState};
use crate::pod::scheduler::Rejection;

pub(super) fn cause(spec: &PodSpec, sight: Sight<'_>, plan: &mut Plan) -> Option<Cause> {
    let rejection = sight.rejection.filter(|_| is_untouched(sight.observed)).cloned();
    if sight.pod.metadata.deletion_timestamp.is_some() {
        Some(Cause::Deleted)
    } else if let Some(Rejection { reason, message }) = rejection {
        Some(Cause::Refused { reason, message })
    } else if has_ended(sight) || has_finished(spec, sight.observed) {
        Some(Cause::Completed)
    } else {
        deadline(spec, sight, plan)
    }
}

/// Whether nothing of it was begun: a Pod is refused before it runs, never while.
fn is_untouched(observed: &Observed) -> bool {
    observed.sandbox.is_none() && observed.containers.values().all(|container| container.current.is_none())
}

/// Whether the API says so, as after a restart of the node that remembers nothing of it.
fn has_ended(sight: Sight<'_>) -> bool {
    let phase = sight.pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

fn deadline(spec: &PodSpec, sight: Sight<'_>, plan: &mut Plan) -> Option<Cause> {
    let allowed = clock::seconds(spec.active_deadline_seconds?);
    let due: Timestamp = clock::later(started(sight.pod)?, allowed);
    if due <= sight.now {
        return Some(Cause::DeadlineExceeded);
    }
    plan.look(due);
    None
}

/// Whether all containers have ended for good, or an init container has that had to succeed.
fn has_finished(spec: &PodSpec, observed: &Observed) -> bool {
    let over = |name: &str| observed.attempt(name).filter(|attempt| attempt.exit().is_some());
    let members = members(spec);
    let mut init = members.iter().filter(|member| member.role == Role::Init);
    let failed = |attempt: &Attempt| attempt.exit().is_some_and(|exit| exit.code != 0);
    let init_failed = init.any(|member| {
        over(member.name()).is_some_and(|attempt| failed(attempt) && !member.restarts(spec, attempt))
    });
    let mut main = members.iter().filter(|member| member.role == Role::Main);
    let all_over =
        main.all(|member| over(member.name()).is_some_and(|attempt| !member.restarts(spec, attempt)));
    init_failed || all_over || is_lost(spec, observed)
}

/// A sandbox that is lost is made anew, but not for a Pod that is never restarted and has run in it.
fn is_lost(spec: &PodSpec, observed: &Observed) -> bool {
    let dead = observed.sandbox.as_ref().is_some_and(|sandbox| sandbox.state == SandboxState::Dead);
    let ran = observed.containers.values().any(|container| container.current.is_some());
    dead && ran && spec.restart_policy.as_deref() == Some("Never")
}
