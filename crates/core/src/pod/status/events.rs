//! What is told of a Pod as events, in the words of kubelet and scheduler: whatever has changed between two looks.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use crate::pod::backoff::Backoff;
use crate::pod::clock;
use crate::pod::lifecycle::Sight;
use crate::pod::member::{Member, Role, members};
use crate::pod::observed::{
    Attempt, Cause, Container, ExitReason, Hook, Image, Observed, PullReason, SandboxState, Stop, StopCause,
    Volumes,
};
use crate::pod::probe::ProbeKind;
use crate::report::Severity;

/// An event about a Pod, or about one of its containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodEvent {
    pub severity: Severity,
    pub reason: String,
    pub message: String,
    /// `spec.containers{name}`, for an event about a container.
    pub field: Option<String>,
}

impl PodEvent {
    fn normal(reason: &str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Normal, reason: reason.to_owned(), message: message.into(), field: None }
    }

    fn warning(reason: &str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::normal(reason, message) }
    }

    fn about(self, member: Member<'_>) -> Self {
        let list = if member.role == Role::Main { "containers" } else { "initContainers" };
        Self { field: Some(format!("spec.{list}{{{}}}", member.name())), ..self }
    }
}

/// A Pod in messages: `name_namespace(uid)`.
pub fn full_name(pod: &Pod) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let metadata = &pod.metadata;
    format!("{}_{}({})", text(&metadata.name), text(&metadata.namespace), text(&metadata.uid))
}

pub fn scheduled(pod: &Pod, node: &str) -> PodEvent {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (namespace, name) = (text(&pod.metadata.namespace), text(&pod.metadata.name));
    PodEvent::normal("Scheduled", format!("Successfully assigned {namespace}/{name} to {node}"))
}

pub fn failed_scheduling(message: &str) -> PodEvent {
    PodEvent::warning("FailedScheduling", message)
}

/// Told about the Pod that makes room.
pub fn preempted(by: &Pod, node: &str) -> PodEvent {
    let uid = by.metadata.uid.as_deref().unwrap_or_default();
    PodEvent::normal("Preempted", format!("Preempted by pod {uid} on node {node}"))
}

/// Told about a Pod that does not bear a taint of its node.
pub fn expelled(pod: &Pod) -> PodEvent {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (namespace, name) = (text(&pod.metadata.namespace), text(&pod.metadata.name));
    PodEvent::normal("TaintManagerEviction", format!("Marking for deletion Pod {namespace}/{name}"))
}

/// A probe that failed, each time it does.
pub fn unhealthy(member: Member<'_>, kind: ProbeKind, output: &str) -> PodEvent {
    PodEvent::warning("Unhealthy", format!("{} probe failed: {output}", kind.as_str())).about(member)
}

/// What happened from an earlier look to this one.
pub fn since(before: &Observed, sight: Sight<'_>) -> Vec<PodEvent> {
    let mut events: Vec<_> = of_pod(before, sight).collect();
    let nothing = Container::default();
    for member in sight.pod.spec.iter().flat_map(members) {
        let before = before.container(member.name()).unwrap_or(&nothing);
        let now = sight.observed.container(member.name()).unwrap_or(&nothing);
        let changed = Changed { member, before, now };
        events.extend(changed.events(sight).into_iter().map(|event| event.about(member)));
    }
    events
}

fn of_pod(before: &Observed, sight: Sight<'_>) -> impl Iterator<Item = PodEvent> {
    let now = sight.observed;
    let volumes = match &now.volumes {
        Volumes::Failed(failure) if now.volumes != before.volumes => Some(PodEvent::warning(
            "FailedMount",
            format!("Unable to attach or mount volumes: {}", failure.message),
        )),
        _ => None,
    };
    let ending = now.ending.as_ref().filter(|_| before.ending.is_none());
    volumes.into_iter().chain(sandbox(before, now)).chain(ending.and_then(|ending| end(&ending.cause)))
}

fn sandbox(before: &Observed, now: &Observed) -> Option<PodEvent> {
    if now.sandbox == before.sandbox {
        return None;
    }
    match &now.sandbox.as_ref()?.state {
        SandboxState::Failed(failure) => {
            let message = format!("Failed to create pod sandbox: {}", failure.message);
            Some(PodEvent::warning("FailedCreatePodSandBox", message))
        }
        SandboxState::Dead if now.ending.is_none() => {
            let message = "Pod sandbox changed, it will be killed and re-created.";
            Some(PodEvent::normal("SandboxChanged", message))
        }
        _ => None,
    }
}

fn end(cause: &Cause) -> Option<PodEvent> {
    match cause {
        Cause::DeadlineExceeded => Some(PodEvent::normal("DeadlineExceeded", super::DEADLINE)),
        Cause::Refused { reason, message } | Cause::Evicted { reason, message } => {
            Some(PodEvent::warning(reason, message.clone()))
        }
        Cause::Completed | Cause::Deleted => None,
    }
}

/// One container at two looks.
struct Changed<'a> {
    member: Member<'a>,
    before: &'a Container,
    now: &'a Container,
}

impl Changed<'_> {
    fn events(&self, sight: Sight<'_>) -> Vec<PodEvent> {
        let mut events = self.image();
        events.extend(self.trouble());
        events.extend(self.attempt(sight));
        events.extend(self.crash_loop(sight));
        events
    }

    fn image(&self) -> Vec<PodEvent> {
        if self.now.image == self.before.image {
            return Vec::new();
        }
        let image = self.member.container.image.as_deref().unwrap_or_default();
        match &self.now.image {
            Image::Unknown | Image::Preparing => Vec::new(),
            Image::Pulling => vec![PodEvent::normal("Pulling", format!("Pulling image {image:?}"))],
            Image::Ready { pulled: None, .. } => {
                let message = format!("Container image {image:?} already present on machine");
                vec![PodEvent::normal("Pulled", message)]
            }
            Image::Ready { pulled: Some(pulled), .. } => {
                let message = format!(
                    "Successfully pulled image {image:?} in {:?} ({:?} including waiting). Image size: {} bytes.",
                    pulled.took, pulled.took_with_waiting, pulled.bytes
                );
                vec![PodEvent::normal("Pulled", message)]
            }
            Image::Failed(failure) => missing(image, failure.reason, &failure.message),
        }
    }

    fn trouble(&self) -> Option<PodEvent> {
        let trouble = self.now.trouble.as_ref().filter(|_| self.now.trouble != self.before.trouble)?;
        Some(PodEvent::warning("Failed", format!("Error: {}", trouble.message)))
    }

    fn attempt(&self, sight: Sight<'_>) -> Vec<PodEvent> {
        let Some(now) = &self.now.current else { return Vec::new() };
        let before = self.before.current.as_ref().filter(|before| before.number == now.number);
        let mut events = Vec::new();
        if !before.is_some_and(has_run) && has_run(now) {
            events.push(PodEvent::normal("Created", "Container created"));
            events.push(PodEvent::normal("Started", "Container started"));
        }
        if before.is_none_or(|before| could_not_start(before).is_none()) {
            events
                .extend(could_not_start(now).map(|why| PodEvent::warning("Failed", format!("Error: {why}"))));
        }
        events.extend(hook(before, now));
        let stop = now.stop.as_ref().filter(|_| before.is_none_or(|before| before.stop.is_none()));
        events.extend(stop.map(|stop| PodEvent::normal("Killing", self.killing(stop, sight.pod))));
        events
    }

    fn killing(&self, stop: &Stop, pod: &Pod) -> String {
        let name = self.member.name();
        let again = pod.spec.as_ref().is_some_and(|spec| self.member.survives_probes(spec));
        let then = if again { ", will be restarted" } else { "" };
        let kind = if self.member.role == Role::Main { "Container" } else { "Init container" };
        match stop.cause {
            StopCause::Pod => format!("Stopping container {name}"),
            StopCause::PostStart => "FailedPostStartHook".to_owned(),
            StopCause::Liveness => format!("{kind} {name} failed liveness probe{then}"),
            StopCause::Startup => format!("{kind} {name} failed startup probe{then}"),
        }
    }

    /// Told once for every wait.
    fn crash_loop(&self, sight: Sight<'_>) -> Option<PodEvent> {
        let exited = |container: &Container| -> Option<Timestamp> {
            container.current.as_ref().and_then(Attempt::exit).map(|exit| exit.finished)
        };
        let failed = exited(self.now).filter(|failed| exited(self.before) != Some(*failed))?;
        clock::remaining(failed, Backoff::wait(self.now.backoff, failed), sight.now)?;
        let restarts = sight.pod.spec.as_ref().zip(self.now.current.as_ref());
        restarts.filter(|(spec, attempt)| self.member.restarts(spec, attempt))?;
        let (name, pod) = (self.member.name(), full_name(sight.pod));
        Some(PodEvent::warning(
            "BackOff",
            format!("Back-off restarting failed container {name} in pod {pod}"),
        ))
    }
}

fn missing(image: &str, reason: PullReason, message: &str) -> Vec<PodEvent> {
    match reason {
        PullReason::Pull => vec![
            PodEvent::warning("Failed", format!("Failed to pull image {image:?}: {message}")),
            PodEvent::warning("Failed", "Error: ErrImagePull"),
            PodEvent::normal("BackOff", format!("Back-off pulling image {image:?}")),
        ],
        PullReason::Never => vec![
            PodEvent::warning(
                "ErrImageNeverPull",
                format!("Container image {image:?} is not present with pull policy of Never"),
            ),
            PodEvent::warning("Failed", "Error: ErrImageNeverPull"),
        ],
        PullReason::Name => {
            vec![
                PodEvent::warning("InspectFailed", message),
                PodEvent::warning("Failed", "Error: InvalidImageName"),
            ]
        }
    }
}

/// Whether an attempt runs or ran, of which one that could not be started did not.
fn has_run(attempt: &Attempt) -> bool {
    attempt.is_running() || attempt.exit().is_some_and(|exit| exit.started.is_some())
}

fn could_not_start(attempt: &Attempt) -> Option<&str> {
    let exit = attempt.exit()?;
    matches!(exit.reason, ExitReason::StartError | ExitReason::CannotRun).then_some(exit.message.as_str())
}

fn hook(before: Option<&Attempt>, now: &Attempt) -> Vec<PodEvent> {
    let failed = |hook: &Hook| matches!(hook, Hook::Failed(_));
    let post_start = |attempt: &Attempt| failed(&attempt.post_start);
    let pre_stop = |attempt: &Attempt| attempt.stop.as_ref().is_some_and(|stop| failed(&stop.pre_stop));
    let is_new = |has: &dyn Fn(&Attempt) -> bool| has(now) && !before.is_some_and(has);
    let mut events = Vec::new();
    if is_new(&post_start) {
        events.push(PodEvent::warning("FailedPostStartHook", "PostStartHook failed"));
    }
    if is_new(&pre_stop) {
        events.push(PodEvent::warning("FailedPreStopHook", "PreStopHook failed"));
    }
    events
}
