//! The conditions of a Pod at each stage.

use k8s_openapi::api::core::v1::{Pod, PodCondition, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::plan::Sight;
use super::stage::Stage;

/// What a kubelet reports. `Ready` also wants the Pod's readiness gates, which others open.
pub(super) fn at(stage: &Stage, sight: Sight<'_>) -> Vec<PodCondition> {
    let pod = sight.pod;
    let running = matches!(stage, Stage::Started | Stage::Ready);
    let unready = unready(stage, pod);
    let initialized = if *stage == Stage::Waiting { waiting_for_init(pod) } else { None };
    let ready = unready.clone().or_else(|| closed_gate(pod));
    let sandbox = (!running).then(Blame::default);
    [
        ("PodScheduled", None),
        ("PodReadyToStartContainers", sandbox),
        ("Initialized", initialized),
        ("ContainersReady", unready),
        ("Ready", ready),
    ]
    .into_iter()
    .map(|(kind, blame)| condition(sight, kind, blame))
    .collect()
}

/// The scheduler's refusal.
pub(super) fn unschedulable(sight: Sight<'_>) -> PodCondition {
    let message = "0/1 nodes are available: the fake kubelet was told to refuse this Pod.";
    condition(sight, "PodScheduled", Some(Blame::new("Unschedulable", message)))
}

/// Whether a Pod has all the conditions of a wanted status already.
pub(super) fn shown(pod: &Pod, wanted: &PodStatus) -> bool {
    wanted.conditions.iter().flatten().all(|wanted| {
        let has = find(pod, &wanted.type_);
        has.is_some_and(|has| has.status == wanted.status && has.reason == wanted.reason)
    })
}

/// Why a condition does not hold.
#[derive(Clone, Default)]
struct Blame {
    reason: Option<String>,
    message: Option<String>,
}

impl Blame {
    fn new(reason: &str, message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..Self::reason(reason) }
    }

    fn reason(reason: &str) -> Self {
        Self { reason: Some(reason.to_owned()), message: None }
    }
}

fn unready(stage: &Stage, pod: &Pod) -> Option<Blame> {
    match stage {
        Stage::Ready => None,
        Stage::Waiting | Stage::Started => {
            let message = format!("containers with unready status: [{}]", names(pod));
            Some(Blame::new("ContainersNotReady", message))
        }
        Stage::Ended(ending) if ending.phase == "Failed" => Some(Blame::reason("PodFailed")),
        Stage::Ended(_) => Some(Blame::reason("PodCompleted")),
    }
}

fn waiting_for_init(pod: &Pod) -> Option<Blame> {
    let has_init = pod.spec.iter().any(|spec| spec.init_containers.iter().flatten().next().is_some());
    has_init.then(|| Blame::new("ContainersNotInitialized", "containers with incomplete status"))
}

fn closed_gate(pod: &Pod) -> Option<Blame> {
    let gates = pod.spec.iter().flat_map(|spec| spec.readiness_gates.iter().flatten());
    let closed = gates
        .map(|gate| &gate.condition_type)
        .find(|kind| find(pod, kind).is_none_or(|condition| condition.status != "True"))?;
    Some(Blame::new("ReadinessGatesNotReady", format!("readiness gate {closed:?} is not open")))
}

fn names(pod: &Pod) -> String {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    containers.map(|container| container.name.as_str()).collect::<Vec<_>>().join(" ")
}

/// A condition that stays as it is keeps the time of its last change.
fn condition(sight: Sight<'_>, kind: &str, blame: Option<Blame>) -> PodCondition {
    let status = if blame.is_none() { "True" } else { "False" };
    let unchanged = find(sight.pod, kind).filter(|condition| condition.status == status);
    let since = unchanged.and_then(|condition| condition.last_transition_time.clone());
    let Blame { reason, message } = blame.unwrap_or_default();
    PodCondition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason,
        message,
        last_transition_time: Some(since.unwrap_or(Time(sight.now))),
        observed_generation: sight.pod.metadata.generation,
        ..PodCondition::default()
    }
}

fn find<'a>(pod: &'a Pod, kind: &str) -> Option<&'a PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == kind)
}
