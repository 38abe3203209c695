//! A keeper that comes after another: what was begun and not finished is begun again, and what went on alone is found.

use asb_core::pod::observed::{
    Attempt, Container, Exit, ExitReason, Hook, Image, Observed, Sandbox, SandboxState, State, Volumes,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus, Pod};

use super::keeper::Keeper;
use crate::shim::client::{Client, Error};
use crate::shim::protocol::{self, Phase};

impl Keeper {
    pub(super) async fn recover(&mut self) {
        if let Some(ids) = self.journal.ids {
            self.tools.ids.keep(ids);
        }
        reset(&mut self.journal.observed);
        let Some(sandbox) = self.journal.observed.ready_sandbox() else { return };
        match self.settle().await {
            Ok(()) => self.follow_shim(sandbox),
            Err(error) => {
                tracing::info!(pod = %self.journal.name, %error, "the sandbox of a Pod is gone");
                self.note_loss(sandbox);
            }
        }
        self.story = self.journal.observed.clone();
    }

    /// Has what was being started come to a start.
    async fn settle(&mut self) -> Result<(), Error> {
        let mut shim = Client::connect(&self.directory()).await?;
        let mut state = shim.state(None).await?;
        while state.containers.iter().any(|container| container.phase == Phase::Building) {
            state = shim.state(Some(state.revision)).await?;
        }
        let creating = self.journal.observed.containers.iter().filter_map(|(name, container)| {
            let attempt = container.current.as_ref().filter(|attempt| attempt.state == State::Creating)?;
            Some(protocol::Attempt { container: name.clone(), number: attempt.number })
        });
        for attempt in creating.collect::<Vec<_>>() {
            match state.containers.iter().find(|container| container.attempt == attempt) {
                None => self.undo_start(&attempt.container, attempt.number),
                Some(container) if container.phase == Phase::Created => {
                    // A failure is seen in the state, with its reason.
                    let _ = shim.start_container(&attempt).await;
                }
                Some(_) => {}
            }
        }
        let state = shim.state(None).await?;
        self.note_shim(&state);
        Ok(())
    }
}

/// What nobody is at any more.
fn reset(observed: &mut Observed) {
    observed.volumes = match &observed.volumes {
        Volumes::Preparing => Volumes::Absent,
        // To be released again.
        Volumes::Releasing => Volumes::Ready,
        other => other.clone(),
    };
    if let Some(sandbox) = &mut observed.sandbox
        && matches!(sandbox.state, SandboxState::Creating | SandboxState::Removing)
    {
        sandbox.state = SandboxState::Dead;
    }
    observed.containers.values_mut().for_each(reset_container);
}

fn reset_container(container: &mut Container) {
    if matches!(container.image, Image::Preparing | Image::Pulling) {
        container.image = Image::Unknown;
    }
    let Some(attempt) = &mut container.current else { return };
    attempt.probing.clear();
    let hooks = attempt.stop.iter_mut().map(|stop| &mut stop.pre_stop).chain([&mut attempt.post_start]);
    for hook in hooks.filter(|hook| **hook == Hook::Running) {
        *hook = Hook::Waiting;
    }
}

/// What the API remembers of a Pod of which nothing is left here, as after the machine lost its power.
pub(super) fn remembered(pod: &Pod) -> Observed {
    let Some(status) = &pod.status else { return Observed::default() };
    let lists = [&status.init_container_statuses, &status.container_statuses];
    let containers = lists.into_iter().flatten().flatten();
    let containers: std::collections::BTreeMap<_, _> =
        containers.filter_map(|status| Some((status.name.clone(), container(status)?))).collect();
    // The one that they ran in is no more.
    let gone = Sandbox { attempt: 0, state: SandboxState::Gone, addresses: Vec::new() };
    Observed { sandbox: (!containers.is_empty()).then_some(gone), containers, ..Observed::default() }
}

/// Nothing of a container that never ran.
fn container(status: &ContainerStatus) -> Option<Container> {
    let ended = |state: &Option<ContainerState>| state.as_ref().and_then(|state| state.terminated.clone());
    let running = status.state.as_ref().and_then(|state| state.running.as_ref());
    let exit = match (running, ended(&status.state).or_else(|| ended(&status.last_state))) {
        (Some(running), _) => {
            let started = running.started_at.as_ref().map(|time| time.0);
            Exit::lost(status.container_id.clone().unwrap_or_default(), started, Timestamp::now())
        }
        (None, Some(terminated)) => exit(&terminated),
        (None, None) => return None,
    };
    let number = status.restart_count.try_into().unwrap_or_default();
    let begun = Attempt::begin(number, 0, exit.id.clone());
    let attempt = Attempt { state: State::Exited(exit), post_start: Hook::Done, ..begun };
    Some(Container { current: Some(attempt), ..Container::default() })
}

fn exit(terminated: &ContainerStateTerminated) -> Exit {
    let reason = match terminated.reason.as_deref() {
        Some("OOMKilled") => ExitReason::OutOfMemory,
        Some("ContainerCannotRun") => ExitReason::CannotRun,
        Some("StartError") => ExitReason::StartError,
        Some("ContainerStatusUnknown") => ExitReason::Lost,
        _ => ExitReason::Ended,
    };
    Exit {
        id: terminated.container_id.clone().unwrap_or_default(),
        code: terminated.exit_code,
        signal: terminated.signal,
        reason,
        message: terminated.message.clone().unwrap_or_default(),
        started: terminated.started_at.as_ref().map(|time| time.0),
        finished: terminated.finished_at.as_ref().map_or_else(Timestamp::now, |time| time.0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(status: serde_json::Value) -> Pod {
        serde_json::from_value(json!({"metadata": {"name": "a"}, "status": status})).unwrap()
    }

    fn exit_of(observed: &Observed, name: &str) -> (u32, Exit) {
        let attempt = observed.attempt(name).unwrap();
        (attempt.number, attempt.exit().unwrap().clone())
    }

    #[test]
    fn what_ran_before_the_power_went_is_lost_and_what_had_ended_keeps_its_end() {
        let observed = remembered(&pod(json!({
            "initContainerStatuses": [{"name": "i", "image": "x", "imageID": "", "ready": true, "restartCount": 0,
                "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}],
            "containerStatuses": [
                {"name": "runs", "image": "x", "imageID": "", "ready": true, "restartCount": 2,
                 "containerID": "asb://u-runs-2", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}},
                {"name": "waits", "image": "x", "imageID": "", "ready": false, "restartCount": 4,
                 "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                 "lastState": {"terminated": {"exitCode": 3, "reason": "Error"}}},
                {"name": "new", "image": "x", "imageID": "", "ready": false, "restartCount": 0,
                 "state": {"waiting": {"reason": "ContainerCreating"}}},
            ],
        })));
        assert_eq!(exit_of(&observed, "i").1.code, 0);
        let (number, lost) = exit_of(&observed, "runs");
        assert_eq!((number, lost.reason, lost.id.as_str()), (2, ExitReason::Lost, "asb://u-runs-2"));
        let (number, ended) = exit_of(&observed, "waits");
        assert_eq!((number, ended.code, ended.reason), (4, 3, ExitReason::Ended));
        assert!(observed.container("new").is_none());
        let next = observed.sandbox.unwrap();
        assert_eq!((next.attempt, next.state), (0, SandboxState::Gone), "the next one has another number");
    }

    #[test]
    fn a_pod_of_which_nothing_is_known_begins_from_nothing() {
        assert_eq!(remembered(&pod(json!({"phase": "Pending"}))), Observed::default());
    }

    #[test]
    fn what_was_begun_is_begun_again() {
        let sandbox = Sandbox { attempt: 3, state: SandboxState::Removing, addresses: Vec::new() };
        let mut observed =
            Observed { volumes: Volumes::Releasing, sandbox: Some(sandbox), ..Observed::default() };
        observed
            .containers
            .insert("a".to_owned(), Container { image: Image::Pulling, ..Container::default() });
        reset(&mut observed);
        assert_eq!(observed.volumes, Volumes::Ready, "so that they are released again");
        assert_eq!(observed.sandbox.unwrap().state, SandboxState::Dead, "so that it is cleared away again");
        assert_eq!(observed.containers["a"].image, Image::Unknown);
    }
}
