//! The conditions of a Pod that its kubelet owns. Those of others are kept.

use k8s_openapi::api::core::v1::{ContainerStatus, PodCondition, PodSpec};

use super::Phase;
use crate::conditions::whole_seconds;
use crate::pod::lifecycle::Sight;
use crate::pod::member::{Member, Role, members};
use crate::pod::observed::SandboxState;

const OWN: [&str; 5] =
    ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];

pub(super) fn conditions(
    spec: &PodSpec,
    sight: Sight<'_>,
    phase: Phase,
    main: &[ContainerStatus],
    init: &[ContainerStatus],
) -> Vec<PodCondition> {
    let mut conditions: Vec<_> =
        known(sight).filter(|known| !OWN.contains(&known.type_.as_str())).cloned().collect();
    let unready = unready(spec, phase, main, init);
    let ready = unready.clone().or_else(|| closed_gates(spec, &conditions));
    let own = [
        (
            "PodReadyToStartContainers",
            if has_sandbox(sight) { Holds::yes() } else { Holds::no("", String::new()) },
        ),
        ("Initialized", initialized(spec, phase, main, init)),
        ("Ready", ready.unwrap_or_else(Holds::yes)),
        ("ContainersReady", unready.unwrap_or_else(Holds::yes)),
        ("PodScheduled", Holds::yes()),
    ];
    conditions.extend(own.into_iter().map(|(kind, holds)| condition(sight, kind, holds)));
    conditions
}

fn known(sight: Sight<'_>) -> impl Iterator<Item = &PodCondition> {
    sight.pod.status.iter().flat_map(|status| status.conditions.iter().flatten())
}

#[derive(Clone)]
struct Holds {
    status: &'static str,
    reason: &'static str,
    message: String,
}

impl Holds {
    fn yes() -> Self {
        Self { status: "True", reason: "", message: String::new() }
    }

    fn no(reason: &'static str, message: String) -> Self {
        Self { status: "False", reason, message }
    }
}

fn has_sandbox(sight: Sight<'_>) -> bool {
    sight.observed.sandbox.as_ref().is_some_and(|sandbox| sandbox.state == SandboxState::Ready)
}

/// Why the containers are not all ready.
fn unready(
    spec: &PodSpec,
    phase: Phase,
    main: &[ContainerStatus],
    init: &[ContainerStatus],
) -> Option<Holds> {
    match phase {
        Phase::Succeeded => return Some(Holds::no("PodCompleted", String::new())),
        Phase::Failed => return Some(Holds::no("PodFailed", String::new())),
        Phase::Pending | Phase::Running => {}
    }
    let is_ready = |name: &str| status(name, main, init).is_some_and(|status| status.ready);
    let members = members(spec);
    let lasting = members.iter().filter(|member| member.role != Role::Init);
    let unready: Vec<_> = lasting.map(Member::name).filter(|name| !is_ready(name)).collect();
    let message = format!("containers with unready status: [{}]", unready.join(" "));
    (!unready.is_empty()).then(|| Holds::no("ContainersNotReady", message))
}

fn status<'a>(
    name: &str,
    main: &'a [ContainerStatus],
    init: &'a [ContainerStatus],
) -> Option<&'a ContainerStatus> {
    main.iter().chain(init).find(|status| status.name == name)
}

/// Conditions of others that Ready waits for.
fn closed_gates(spec: &PodSpec, conditions: &[PodCondition]) -> Option<Holds> {
    let complaint = |kind: &str| match conditions.iter().find(|condition| condition.type_ == kind) {
        Some(condition) if condition.status == "True" => None,
        Some(condition) => Some(format!(
            "the status of pod readiness gate {kind:?} is not \"True\", but {}",
            condition.status
        )),
        None => Some(format!("corresponding condition of pod readiness gate {kind:?} does not exist.")),
    };
    let gates = spec.readiness_gates.iter().flatten();
    let complaints: Vec<_> = gates.filter_map(|gate| complaint(&gate.condition_type)).collect();
    (!complaints.is_empty()).then(|| Holds::no("ReadinessGatesNotReady", complaints.join(", ")))
}

fn initialized(spec: &PodSpec, phase: Phase, main: &[ContainerStatus], init: &[ContainerStatus]) -> Holds {
    if phase == Phase::Succeeded {
        return Holds { reason: "PodCompleted", ..Holds::yes() };
    }
    if main.iter().any(has_begun) {
        return Holds::yes();
    }
    let is_done = |member: &Member<'_>| {
        let status = status(member.name(), main, init);
        status.is_some_and(|status| match member.role {
            Role::Sidecar => status.started == Some(true),
            Role::Init | Role::Main => status.ready,
        })
    };
    let members = members(spec);
    let open = members.iter().filter(|member| member.role != Role::Main && !is_done(member));
    let names: Vec<_> = open.map(Member::name).collect();
    let message = format!("containers with incomplete status: [{}]", names.join(" "));
    if names.is_empty() { Holds::yes() } else { Holds::no("ContainersNotInitialized", message) }
}

/// Whether a container runs or has run.
fn has_begun(status: &ContainerStatus) -> bool {
    let ran = |state: &Option<k8s_openapi::api::core::v1::ContainerState>| {
        state.as_ref().is_some_and(|state| state.running.is_some() || state.terminated.is_some())
    };
    ran(&status.state) || ran(&status.last_state)
}

/// A condition that stays as it is keeps the time of its last change.
fn condition(sight: Sight<'_>, kind: &str, holds: Holds) -> PodCondition {
    let before = known(sight).find(|known| known.type_ == kind && known.status == holds.status);
    let since = before.and_then(|before| before.last_transition_time.clone());
    let said = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    PodCondition {
        type_: kind.to_owned(),
        status: holds.status.to_owned(),
        reason: said(holds.reason),
        message: said(&holds.message),
        last_transition_time: Some(since.unwrap_or_else(|| whole_seconds(sight.now))),
        observed_generation: sight.pod.metadata.generation,
        ..PodCondition::default()
    }
}
