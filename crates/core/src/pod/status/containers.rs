//! The containers of a Pod as they are reported.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus,
    ContainerUser, LinuxContainerUser, PodSpec, VolumeMount, VolumeMountStatus,
};

use crate::conditions::whole_seconds;
use crate::pod::backoff::Backoff;
use crate::pod::clock;
use crate::pod::lifecycle::Sight;
use crate::pod::member::{Member, Role, members};
use crate::pod::observed::{Attempt, Container, Exit, ExitReason, Image, PullReason, State, User};

/// The containers proper, by name.
pub(super) fn main(spec: &PodSpec, sight: Sight<'_>) -> Vec<ContainerStatus> {
    let mut statuses = of(spec, sight, |role| role == Role::Main);
    statuses.sort_by(|first, second| first.name.cmp(&second.name));
    statuses
}

/// Init containers and sidecars, in their order.
pub(super) fn init(spec: &PodSpec, sight: Sight<'_>) -> Vec<ContainerStatus> {
    of(spec, sight, |role| role != Role::Main)
}

fn of(spec: &PodSpec, sight: Sight<'_>, wanted: fn(Role) -> bool) -> Vec<ContainerStatus> {
    let members = members(spec).into_iter().filter(|member| wanted(member.role));
    members.map(|member| status(spec, member, sight)).collect()
}

fn status(spec: &PodSpec, member: Member<'_>, sight: Sight<'_>) -> ContainerStatus {
    let nothing = Container::default();
    let container = sight.observed.container(member.name()).unwrap_or(&nothing);
    if let Some(told) = told(member, container, sight) {
        return told;
    }
    let attempt = container.current.as_ref();
    let waiting = waiting(spec, member, container, sight);
    let ended = attempt.and_then(Attempt::exit);
    let last = if waiting.is_some() { ended } else { None }.or(container.last.as_ref());
    let resources = attempt.and(member.container.resources.clone());
    ContainerStatus {
        name: member.name().to_owned(),
        image: member.container.image.clone().unwrap_or_default(),
        image_id: image_id(container),
        container_id: attempt.map(|attempt| attempt.id.clone()),
        restart_count: attempt.map_or(0, |attempt| attempt.number.try_into().unwrap_or(i32::MAX)),
        ready: is_ready(member, attempt),
        started: Some(
            attempt.is_some_and(|attempt| attempt.is_running() && member.has_passed_startup(attempt)),
        ),
        state: Some(state(attempt, waiting)),
        last_state: Some(last.map(terminated).unwrap_or_default()),
        allocated_resources: resources.as_ref().and_then(|resources| resources.requests.clone()),
        resources,
        user: attempt.and_then(|attempt| attempt.user.as_ref()).map(user),
        volume_mounts: mounts(member),
        ..ContainerStatus::default()
    }
}

/// What was told of the end of a container of which nothing is known any more.
fn told(member: Member<'_>, container: &Container, sight: Sight<'_>) -> Option<ContainerStatus> {
    let status = sight.pod.status.as_ref().filter(|_| container.current.is_none())?;
    let main = status.container_statuses.iter().flatten();
    let mut all = main.chain(status.init_container_statuses.iter().flatten());
    let ended = |told: &&ContainerStatus| told.state.as_ref().is_some_and(|state| state.terminated.is_some());
    all.find(|told| told.name == member.name()).filter(ended).cloned()
}

fn image_id(container: &Container) -> String {
    match &container.image {
        Image::Ready { id, .. } => id.clone(),
        _ => String::new(),
    }
}

/// An init container is ready once it has succeeded, the others as their probes say.
fn is_ready(member: Member<'_>, attempt: Option<&Attempt>) -> bool {
    attempt.is_some_and(|attempt| match member.role {
        Role::Init => attempt.exit().is_some_and(|exit| exit.code == 0),
        Role::Sidecar | Role::Main => member.is_ready(attempt),
    })
}

/// Why a container does not run though it is to.
struct Waiting {
    reason: &'static str,
    message: Option<String>,
}

/// Nothing for a container that runs, or that has ended and is not known to wait for anything.
fn waiting(spec: &PodSpec, member: Member<'_>, container: &Container, sight: Sight<'_>) -> Option<Waiting> {
    let attempt = container.current.as_ref();
    match attempt.map(|attempt| &attempt.state) {
        Some(State::Running { .. }) => None,
        Some(State::Creating) => Some(plain(spec)),
        Some(State::Exited(_)) => {
            let again = sight.observed.ending.is_none()
                && attempt.is_some_and(|attempt| member.restarts(spec, attempt));
            again.then(|| held_back(member, container, sight)).flatten()
        }
        None => Some(held_back(member, container, sight).unwrap_or_else(|| plain(spec))),
    }
}

fn plain(spec: &PodSpec) -> Waiting {
    let has_init = spec.init_containers.iter().flatten().next().is_some();
    Waiting { reason: if has_init { "PodInitializing" } else { "ContainerCreating" }, message: None }
}

/// What keeps the next attempt from starting: the back-off, the image, or what it is made of.
fn held_back(member: Member<'_>, container: &Container, sight: Sight<'_>) -> Option<Waiting> {
    crash_loop(member, container, sight).or_else(|| missing_image(member, container, sight.now)).or_else(
        || {
            let trouble = container.trouble.as_ref()?;
            Some(Waiting { reason: trouble.reason.as_str(), message: Some(trouble.message.clone()) })
        },
    )
}

fn crash_loop(member: Member<'_>, container: &Container, sight: Sight<'_>) -> Option<Waiting> {
    let failed = container.current.as_ref().and_then(Attempt::exit)?.finished;
    let delay = Backoff::wait(container.backoff, failed);
    clock::remaining(failed, delay, sight.now)?;
    let message = format!(
        "back-off {} restarting failed container={} pod={}",
        clock::spelled(delay),
        member.name(),
        super::events::full_name(sight.pod)
    );
    Some(Waiting { reason: "CrashLoopBackOff", message: Some(message) })
}

/// How long the error of a pull is told before the wait for the next.
const TOLD: Duration = Duration::from_secs(1);

fn missing_image(member: Member<'_>, container: &Container, now: Timestamp) -> Option<Waiting> {
    let Image::Failed(failure) = &container.image else { return None };
    let image = member.container.image.as_deref().unwrap_or_default();
    let (reason, message) = match failure.reason {
        PullReason::Never => (
            "ErrImageNeverPull",
            format!("Container image {image:?} is not present with pull policy of Never"),
        ),
        PullReason::Name => ("InvalidImageName", failure.message.clone()),
        PullReason::Pull if clock::remaining(failure.at, TOLD, now).is_some() => {
            ("ErrImagePull", failure.message.clone())
        }
        PullReason::Pull => (
            "ImagePullBackOff",
            format!("Back-off pulling image {image:?}: ErrImagePull: {}", failure.message),
        ),
    };
    Some(Waiting { reason, message: Some(message) })
}

fn state(attempt: Option<&Attempt>, waiting: Option<Waiting>) -> ContainerState {
    match (waiting, attempt.map(|attempt| &attempt.state)) {
        (None, Some(State::Running { since })) => {
            let running = ContainerStateRunning { started_at: Some(whole_seconds(*since)) };
            ContainerState { running: Some(running), ..ContainerState::default() }
        }
        (None, Some(State::Exited(exit))) => terminated(exit),
        (waiting, _) => {
            let (reason, message) =
                waiting.map(|waiting| (waiting.reason.to_owned(), waiting.message)).unzip();
            let waiting = ContainerStateWaiting { reason, message: message.flatten() };
            ContainerState { waiting: Some(waiting), ..ContainerState::default() }
        }
    }
}

fn terminated(exit: &Exit) -> ContainerState {
    let terminated = ContainerStateTerminated {
        container_id: Some(exit.id.clone()),
        exit_code: exit.code,
        signal: exit.signal,
        reason: Some(reason(exit).to_owned()),
        message: Some(exit.message.clone()).filter(|message| !message.is_empty()),
        started_at: exit.started.map(whole_seconds),
        finished_at: Some(whole_seconds(exit.finished)),
    };
    ContainerState { terminated: Some(terminated), ..ContainerState::default() }
}

fn reason(exit: &Exit) -> &'static str {
    match exit.reason {
        ExitReason::Ended if exit.code == 0 => "Completed",
        ExitReason::Ended => "Error",
        ExitReason::OutOfMemory => "OOMKilled",
        ExitReason::CannotRun => "ContainerCannotRun",
        ExitReason::StartError => "StartError",
        ExitReason::Lost => "ContainerStatusUnknown",
    }
}

fn user(user: &User) -> ContainerUser {
    let User { uid, gid, groups } = user.clone();
    let supplemental_groups = (!groups.is_empty()).then_some(groups);
    ContainerUser { linux: Some(LinuxContainerUser { uid, gid, supplemental_groups }) }
}

fn mounts(member: Member<'_>) -> Option<Vec<VolumeMountStatus>> {
    let mounts = member.container.volume_mounts.as_ref()?;
    Some(mounts.iter().map(mount).collect())
}

/// How far a mount that is read-only is so for what is mounted below it.
fn mount(mount: &VolumeMount) -> VolumeMountStatus {
    let is_recursive = matches!(mount.recursive_read_only.as_deref(), Some("Enabled" | "IfPossible"));
    let recursion = if is_recursive { "Enabled" } else { "Disabled" };
    let read_only = mount.read_only.filter(|read_only| *read_only);
    VolumeMountStatus {
        name: mount.name.clone(),
        mount_path: mount.mount_path.clone(),
        read_only,
        recursive_read_only: read_only.map(|_| recursion.to_owned()),
        ..VolumeMountStatus::default()
    }
}
