//! Tells the API server and people what was decided about a Pod.

use std::sync::Arc;

use asb_core::conditions::whole_seconds;
use asb_core::pod::scheduler::{SELECTED_NODE, Victim};
use asb_core::pod::status::events;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Binding, ObjectReference, PersistentVolumeClaim, Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::memory::{GATED, Step};
use crate::events::Events;

const SCHEDULED: &str = "PodScheduled";
const LEAVES: &str = "default-scheduler: preempting to accommodate a higher priority pod";

#[derive(Clone)]
pub(super) struct Writer {
    pub(super) client: Client,
    pub(super) node: String,
    pub(super) events: Events,
}

/// What became of a step.
pub(super) struct Done {
    pub(super) uid: String,
    pub(super) outcome: Outcome,
}

pub(super) enum Outcome {
    Written,
    /// The Pod is gone, or another's by now, which the caches will show.
    Outdated,
    Failed(kube::Error),
}

impl From<Result<(), kube::Error>> for Outcome {
    fn from(result: Result<(), kube::Error>) -> Self {
        match result {
            Ok(()) => Self::Written,
            Err(error) if is_outdated(&error) => Self::Outdated,
            Err(error) => Self::Failed(error),
        }
    }
}

impl Writer {
    pub(super) async fn carry_out(&self, step: Step) -> Done {
        let (Step::Bind(pod) | Step::Choose { pod, .. } | Step::Wait { pod, .. }) = &step;
        let uid = pod.uid().unwrap_or_default();
        let outcome = match &step {
            Step::Bind(pod) => self.bind(pod).await,
            Step::Choose { pod, claims } => self.choose(pod, claims).await,
            Step::Wait { pod, reason, message, victims, is_nominated } => {
                self.wait(pod, reason, message, victims, *is_nominated).await
            }
        };
        Done { uid, outcome: outcome.into() }
    }

    async fn bind(&self, pod: &Arc<Pod>) -> Result<(), kube::Error> {
        let (pods, parameters) = (self.pods(&pod.namespace().unwrap_or_default()), PostParams::default());
        let binding = binding(pod, &self.node);
        pods.create_subresource::<_, Value>("binding", &pod.name_any(), &parameters, &binding).await?;
        self.events.tell(pod, events::scheduled(pod, &self.node));
        Ok(())
    }

    /// Tells claims which node their first Pod has.
    async fn choose(&self, pod: &Pod, names: &[String]) -> Result<(), kube::Error> {
        let namespace = pod.namespace().unwrap_or_default();
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), &namespace);
        let patch = Patch::Merge(json!({"metadata": {"annotations": {SELECTED_NODE: self.node}}}));
        for name in names {
            claims.patch(name, &PatchParams::default(), &patch).await?;
        }
        Ok(())
    }

    async fn wait(
        &self,
        pod: &Pod,
        reason: &str,
        message: &str,
        victims: &[Victim],
        is_nominated: bool,
    ) -> Result<(), kube::Error> {
        let condition = waits(pod, reason, message, Timestamp::now());
        let nominated = is_nominated.then_some(&self.node);
        let status = json!({"conditions": [condition], "nominatedNodeName": nominated});
        self.patch_status(&Victim::of(pod), status).await?;
        if reason != GATED {
            self.events.tell(pod, events::failed_scheduling(message));
        }
        for victim in victims {
            self.evict(victim, pod).await?;
        }
        Ok(())
    }

    /// One that is gone already has made room.
    async fn evict(&self, victim: &Victim, by: &Pod) -> Result<(), kube::Error> {
        let pods = self.pods(&victim.namespace);
        let Some(pod) =
            pods.get_opt(&victim.name).await?.filter(|pod| pod.uid().as_ref() == Some(&victim.uid))
        else {
            return Ok(());
        };
        let condition = changed(&pod, "DisruptionTarget", "True", Timestamp::now());
        let condition = PodCondition {
            reason: Some("PreemptionByScheduler".to_owned()),
            message: Some(LEAVES.to_owned()),
            ..condition
        };
        self.patch_status(victim, json!({"conditions": [condition]})).await.or_else(forgive)?;
        let meant = Preconditions { uid: Some(victim.uid.clone()), resource_version: None };
        let parameters = DeleteParams { preconditions: Some(meant), ..DeleteParams::default() };
        pods.delete(&victim.name, &parameters).await.map(drop).or_else(forgive)?;
        self.events.tell(&pod, events::preempted(by, &self.node));
        Ok(())
    }

    async fn patch_status(&self, pod: &Victim, status: Value) -> Result<(), kube::Error> {
        let patch = Patch::Strategic(json!({"metadata": {"uid": pod.uid}, "status": status}));
        self.pods(&pod.namespace).patch_status(&pod.name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    fn pods(&self, namespace: &str) -> Api<Pod> {
        Api::namespaced(self.client.clone(), namespace)
    }
}

fn is_outdated(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_not_found() || status.is_conflict())
}

/// One that is gone needs nothing more.
fn forgive(error: kube::Error) -> Result<(), kube::Error> {
    if is_outdated(&error) { Ok(()) } else { Err(error) }
}

fn binding(pod: &Pod, node: &str) -> Binding {
    Binding {
        metadata: ObjectMeta {
            name: pod.metadata.name.clone(),
            namespace: pod.metadata.namespace.clone(),
            uid: pod.metadata.uid.clone(),
            ..ObjectMeta::default()
        },
        target: ObjectReference {
            kind: Some("Node".to_owned()),
            name: Some(node.to_owned()),
            ..ObjectReference::default()
        },
    }
}

fn waits(pod: &Pod, reason: &str, message: &str, now: Timestamp) -> PodCondition {
    let condition = changed(pod, SCHEDULED, "False", now);
    PodCondition { reason: Some(reason.to_owned()), message: Some(message.to_owned()), ..condition }
}

/// With the time at which it became so.
fn changed(pod: &Pod, type_: &str, status: &str, now: Timestamp) -> PodCondition {
    let mut known = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let same = known.find(|known| known.type_ == type_ && known.status == status);
    let since: Option<Time> = same.and_then(|known| known.last_transition_time.clone());
    PodCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        last_transition_time: Some(since.unwrap_or_else(|| whole_seconds(now))),
        observed_generation: pod.metadata.generation,
        ..PodCondition::default()
    }
}
