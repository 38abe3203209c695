//! How far a Sandbox or a claim has come, and what is in its way: from its conditions, its Pod and the events about
//! that. Pure; looking is left to `sights`.

use std::fmt;

use asb_types::conditions::{FINISHED, READY, SUSPENDED, claim_ready, sandbox_ready};
use asb_types::v1beta1::{OperatingMode, Sandbox, SandboxClaim};
use k8s_openapi::api::core::v1::{ContainerStateWaiting, Event, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::pods;
use crate::sights::Snapshot;

/// What a Sandbox does on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It was asked for, and has no Pod yet.
    Accepted,
    /// Its Pod looks for a node.
    Scheduling,
    /// The node fetches an image.
    Pulling { image: String },
    /// The node prepares volumes, network and containers.
    Preparing,
    /// The command runs, and is not ready yet.
    Starting,
}

/// What keeps a Sandbox from being ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// For programs: the reason as Kubernetes has it.
    pub reason: String,
    /// For people.
    pub message: String,
}

/// What is to be expected of a Sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// It is on its way, and an obstacle may go away by itself.
    Underway {
        step: Step,
        obstacle: Option<Obstacle>,
    },
    Ready,
    /// Its command has ended.
    Ended,
    /// It is suspended, as was asked.
    Suspended,
    /// It will not become ready unless somebody changes something.
    Stuck(Obstacle),
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => write!(formatter, "asked for"),
            Self::Scheduling => write!(formatter, "looking for a node"),
            Self::Pulling { image } => write!(formatter, "fetching {image}"),
            Self::Preparing => write!(formatter, "preparing"),
            Self::Starting => write!(formatter, "starting"),
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.reason.as_str(), self.message.as_str()) {
            (reason, "") => write!(formatter, "{reason}"),
            ("", message) => write!(formatter, "{message}"),
            (reason, message) => write!(formatter, "{reason}: {message}"),
        }
    }
}

impl Obstacle {
    fn of(condition: &Condition) -> Self {
        Self { reason: condition.reason.clone(), message: condition.message.clone() }
    }
}

/// How far a Sandbox is.
pub fn of_sandbox(snapshot: &Snapshot) -> Outlook {
    let Some(sandbox) = &snapshot.sandbox else { return underway(Step::Accepted) };
    let ready = condition(sandbox_conditions(sandbox), READY);
    match ready {
        Some(ready) if ready.status == "True" => return Outlook::Ready,
        Some(ready) if is_final(&ready.reason) => return Outlook::Stuck(Obstacle::of(ready)),
        _ => {}
    }
    if sandbox.spec.operating_mode == OperatingMode::Suspended {
        return suspended(sandbox);
    }
    if condition(sandbox_conditions(sandbox), FINISHED).is_some_and(|it| it.status == "True") {
        return Outlook::Ended;
    }
    match &snapshot.pod {
        Some(pod) => of_pod(pod, &snapshot.events),
        None => Outlook::Underway { step: Step::Accepted, obstacle: refused(ready) },
    }
}

/// How far a claim is. Once it has a Sandbox, it speaks for that.
pub fn of_claim(claim: &SandboxClaim) -> Outlook {
    let conditions = claim.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let Some(ready) = condition(conditions, READY) else { return underway(Step::Accepted) };
    match ready.reason.as_str() {
        _ if ready.status == "True" => Outlook::Ready,
        sandbox_ready::SUSPENDED => Outlook::Suspended,
        reason if is_final(reason) || is_final_for_claims(reason) => Outlook::Stuck(Obstacle::of(ready)),
        _ if condition(conditions, FINISHED).is_some_and(|it| it.status == "True") => Outlook::Ended,
        _ => Outlook::Underway { step: Step::Accepted, obstacle: refused(Some(ready)) },
    }
}

fn of_pod(pod: &Pod, events: &[Event]) -> Outlook {
    if matches!(pods::phase(pod), "Succeeded" | "Failed") {
        return Outlook::Ended;
    }
    if let Some(obstacle) = unscheduled(pod) {
        return Outlook::Underway { step: Step::Scheduling, obstacle: Some(obstacle) };
    }
    if pod.spec.as_ref().is_none_or(|spec| spec.node_name.is_none()) {
        return underway(Step::Scheduling);
    }
    match waiting(pod).find(|waiting| !is_usual(waiting)) {
        Some(waiting) => held_up(waiting),
        None if waiting(pod).next().is_some() || pods::phase(pod) == "Pending" => {
            Outlook::Underway { step: preparing(events), obstacle: complaint(events) }
        }
        None => underway(Step::Starting),
    }
}

fn underway(step: Step) -> Outlook {
    Outlook::Underway { step, obstacle: None }
}

fn sandbox_conditions(sandbox: &Sandbox) -> &[Condition] {
    sandbox.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default()
}

fn condition<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

/// Whether waiting does not help.
fn is_final(reason: &str) -> bool {
    use sandbox_ready::{EXPIRED, INVALID_CONFIGURATION, MULTIPLE_PODS, NAME_HASH_COLLISION};
    [EXPIRED, INVALID_CONFIGURATION, MULTIPLE_PODS, NAME_HASH_COLLISION].contains(&reason)
}

fn is_final_for_claims(reason: &str) -> bool {
    use claim_ready::{
        ENV_VARS_INJECTION_REJECTED, EXPIRED, INVALID_METADATA, SANDBOX_LOST, TEMPLATE_NOT_FOUND,
        VOLUME_CLAIM_TEMPLATES_ERROR, WARM_POOL_NOT_FOUND,
    };
    [
        ENV_VARS_INJECTION_REJECTED,
        EXPIRED,
        INVALID_METADATA,
        SANDBOX_LOST,
        TEMPLATE_NOT_FOUND,
        VOLUME_CLAIM_TEMPLATES_ERROR,
        WARM_POOL_NOT_FOUND,
    ]
    .contains(&reason)
}

/// Only once nothing runs any more.
fn suspended(sandbox: &Sandbox) -> Outlook {
    match condition(sandbox_conditions(sandbox), SUSPENDED) {
        Some(suspended) if suspended.status == "True" => Outlook::Suspended,
        _ => underway(Step::Accepted),
    }
}

/// Why the operator could not make the Pod: a quota, an admission that says no. It goes on trying.
fn refused(ready: Option<&Condition>) -> Option<Obstacle> {
    ready.filter(|it| it.reason == sandbox_ready::RECONCILER_ERROR).map(Obstacle::of)
}

fn unscheduled(pod: &Pod) -> Option<Obstacle> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let scheduled = conditions.iter().find(|condition| condition.type_ == "PodScheduled")?;
    let obstacle = || Obstacle {
        reason: scheduled.reason.clone().unwrap_or_default(),
        message: scheduled.message.clone().unwrap_or_default(),
    };
    (scheduled.status == "False").then(obstacle)
}

/// Containers that do not run yet, in the order in which they would.
fn waiting(pod: &Pod) -> impl Iterator<Item = &ContainerStateWaiting> {
    let status = pod.status.iter();
    let containers =
        status.flat_map(|it| it.init_container_statuses.iter().chain(&it.container_statuses)).flatten();
    containers.filter_map(|it| it.state.as_ref()?.waiting.as_ref())
}

fn is_usual(waiting: &ContainerStateWaiting) -> bool {
    matches!(waiting.reason.as_deref(), None | Some("" | "ContainerCreating" | "PodInitializing"))
}

/// A container that cannot be started: some reasons may pass, for the rest the node only tries the same again.
fn held_up(waiting: &ContainerStateWaiting) -> Outlook {
    let reason = waiting.reason.clone().unwrap_or_default();
    let obstacle = Obstacle { message: waiting.message.clone().unwrap_or_default(), reason: reason.clone() };
    match reason.as_str() {
        "ErrImagePull" | "CreateContainerConfigError" => {
            Outlook::Underway { step: Step::Preparing, obstacle: Some(obstacle) }
        }
        _ => Outlook::Stuck(obstacle),
    }
}

fn preparing(events: &[Event]) -> Step {
    let of_images = |event: &&Event| matches!(event.reason.as_deref(), Some("Pulling" | "Pulled"));
    match events.iter().rfind(of_images) {
        Some(event) if event.reason.as_deref() == Some("Pulling") => Step::Pulling { image: image(event) },
        _ => Step::Preparing,
    }
}

/// A kubelet names the image only in a sentence.
fn image(event: &Event) -> String {
    let quoted = event.message.as_deref().and_then(|message| message.split('"').nth(1));
    quoted.unwrap_or("its image").to_owned()
}

/// What the node complained of last, if it has not gone on since. Of images and commands the Pod itself tells.
fn complaint(events: &[Event]) -> Option<Obstacle> {
    let is_told =
        |event: &Event| matches!(event.reason.as_deref(), Some("Failed" | "BackOff" | "InspectFailed"));
    let last = events.last().filter(|event| event.type_.as_deref() == Some("Warning") && !is_told(event))?;
    let reason = last.reason.clone().unwrap_or_default();
    Some(Obstacle { reason, message: last.message.clone().unwrap_or_default() })
}

#[cfg(test)]
mod tests;
