//! What a Pod needs before its containers: volumes and a sandbox; and which containers may run by now.

use std::time::Duration;

use k8s_openapi::api::core::v1::PodSpec;

use super::{Action, Plan, Sight};
use crate::pod::clock;
use crate::pod::member::{Member, Role, is_initialized, members};
use crate::pod::observed::{Failure, Observed, SandboxState, Volumes};

const FIRST_RETRY: Duration = Duration::from_millis(500);
const LONGEST_RETRY: Duration = Duration::from_mins(2);

pub(super) fn volumes(sight: Sight<'_>, plan: &mut Plan) {
    match &sight.observed.volumes {
        Volumes::Absent => plan.push(Action::PrepareVolumes),
        Volumes::Failed(failure) => retry(failure, Action::PrepareVolumes, sight, plan),
        Volumes::Preparing | Volumes::Ready | Volumes::Releasing => {}
    }
}

/// A sandbox is made once the volumes are there.
pub(super) fn sandbox(sight: Sight<'_>, plan: &mut Plan) {
    let mounted = sight.observed.volumes == Volumes::Ready;
    match &sight.observed.sandbox {
        _ if !mounted => {}
        None => plan.push(Action::CreateSandbox { attempt: 0 }),
        Some(sandbox) => match &sandbox.state {
            SandboxState::Failed(failure) => {
                retry(failure, Action::CreateSandbox { attempt: sandbox.attempt + 1 }, sight, plan);
            }
            SandboxState::Dead if !sight.observed.is_live() => {
                plan.push(Action::RemoveSandbox { attempt: sandbox.attempt });
            }
            SandboxState::Gone => plan.push(Action::CreateSandbox { attempt: sandbox.attempt + 1 }),
            SandboxState::Creating | SandboxState::Ready | SandboxState::Dead | SandboxState::Removing => {}
        },
    }
}

fn retry(failure: &Failure, action: Action, sight: Sight<'_>, plan: &mut Plan) {
    let doubled = FIRST_RETRY.saturating_mul(1 << failure.times.saturating_sub(1).min(16));
    match clock::remaining(failure.at, doubled.min(LONGEST_RETRY), sight.now) {
        Some(then) => plan.look(then),
        None => plan.push(action),
    }
}

/// The containers that may run: the init containers up to the first that is not done; then sidecars and the others.
pub(super) fn due<'a>(spec: &'a PodSpec, observed: &Observed, sandbox: u32) -> Vec<Member<'a>> {
    let members = members(spec);
    if is_initialized(spec, observed, sandbox) {
        return members.into_iter().filter(|member| member.role != Role::Init).collect();
    }
    let mut due = Vec::new();
    for member in members {
        due.push(member);
        if !member.lets_pass(observed, sandbox) {
            break;
        }
    }
    due
}
