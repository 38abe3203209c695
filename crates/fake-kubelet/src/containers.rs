//! The statuses of a Pod's containers at each stage.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::plan::Sight;
use super::stage::{Ending, Stage};

/// The containers proper.
pub(super) fn main(stage: &Stage, sight: Sight<'_>) -> Vec<ContainerStatus> {
    let containers = sight.pod.spec.iter().flat_map(|spec| &spec.containers);
    containers.map(|container| status(container, stage, sight)).collect()
}

/// The init containers: done once the others run, except for sidecars, which run beside them.
pub(super) fn init(stage: &Stage, sight: Sight<'_>) -> Option<Vec<ContainerStatus>> {
    let containers = sight.pod.spec.as_ref()?.init_containers.as_ref()?;
    let statuses = containers.iter().map(|container| match (stage, is_sidecar(container)) {
        (Stage::Waiting, _) | (Stage::Started | Stage::Ready, true) => status(container, stage, sight),
        (Stage::Ended(_), true) => status(container, &Stage::Ended(Ending::stopped()), sight),
        (_, false) => completed(container, sight),
    });
    Some(statuses.collect())
}

fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

fn completed(container: &Container, sight: Sight<'_>) -> ContainerStatus {
    let then = Sight { now: sight.start(), ..sight };
    ContainerStatus { ready: true, ..status(container, &Stage::Ended(Ending::stopped()), then) }
}

fn status(container: &Container, stage: &Stage, sight: Sight<'_>) -> ContainerStatus {
    let image = container.image.clone().unwrap_or_default();
    let id = format!("fake://{}/{}", sight.pod.uid().unwrap_or_default(), container.name);
    let current = match stage {
        Stage::Waiting => waiting(),
        Stage::Started | Stage::Ready => running(sight.start()),
        Stage::Ended(ending) => terminated(ending, &id, sight),
    };
    ContainerStatus {
        name: container.name.clone(),
        image_id: if *stage == Stage::Waiting { String::new() } else { format!("fake://{image}") },
        image,
        container_id: (*stage != Stage::Waiting).then_some(id),
        ready: *stage == Stage::Ready,
        started: Some(matches!(stage, Stage::Started | Stage::Ready)),
        restart_count: 0,
        state: Some(current),
        ..ContainerStatus::default()
    }
}

fn waiting() -> ContainerState {
    let reason = Some("ContainerCreating".to_owned());
    let waiting = Some(ContainerStateWaiting { reason, ..ContainerStateWaiting::default() });
    ContainerState { waiting, ..ContainerState::default() }
}

fn running(start: Timestamp) -> ContainerState {
    let running = Some(ContainerStateRunning { started_at: Some(Time(start)) });
    ContainerState { running, ..ContainerState::default() }
}

fn terminated(ending: &Ending, id: &str, sight: Sight<'_>) -> ContainerState {
    let terminated = ContainerStateTerminated {
        container_id: Some(id.to_owned()),
        exit_code: ending.exit_code,
        reason: Some(ending.reason.clone()),
        started_at: Some(Time(sight.start().min(sight.now))),
        finished_at: Some(Time(sight.now)),
        ..ContainerStateTerminated::default()
    };
    ContainerState { terminated: Some(terminated), ..ContainerState::default() }
}
