//! Does what a plan says, one API call per action. Safe to repeat: every call names the Pod's uid, and a Pod that
//! has moved on is left to the watch.

use k8s_openapi::api::core::v1::{Binding, ObjectReference, Pod, PodStatus};
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions};
use kube::core::Status;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::agenda::Uid;
use super::plan::Action;

/// One action on one Pod, free of what may change meanwhile.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: Uid,
    pub(super) node: String,
    pub(super) action: Action,
}

/// What the API server made of it.
#[derive(Debug)]
pub(super) enum Applied {
    Bound,
    Updated(Box<Pod>),
    Removed,
    /// The Pod is no longer as it was seen; the watch will tell.
    Overtaken,
}

pub(super) async fn apply(client: &Client, work: &Work) -> Result<Applied, kube::Error> {
    let pods = Api::namespaced(client.clone(), &work.namespace);
    let applied = match &work.action {
        Action::Bind => bind(&pods, work).await,
        Action::SetStatus(status) => set_status(&pods, work, status).await,
        Action::Remove => remove(&pods, work).await,
    };
    match applied {
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {
            Ok(Applied::Overtaken)
        }
        applied => applied,
    }
}

async fn bind(pods: &Api<Pod>, work: &Work) -> Result<Applied, kube::Error> {
    let metadata = ObjectMeta {
        name: Some(work.name.clone()),
        uid: Some(work.uid.to_string()),
        ..ObjectMeta::default()
    };
    let target = ObjectReference {
        kind: Some("Node".to_owned()),
        name: Some(work.node.clone()),
        ..ObjectReference::default()
    };
    let binding = Binding { metadata, target };
    let _: Status = pods.create_subresource("binding", &work.name, &PostParams::default(), &binding).await?;
    Ok(Applied::Bound)
}

async fn set_status(pods: &Api<Pod>, work: &Work, status: &PodStatus) -> Result<Applied, kube::Error> {
    let status = explicit(status).map_err(kube::Error::SerdeError)?;
    let patch = json!({ "metadata": { "uid": &*work.uid }, "status": status });
    let pod = pods.patch_status(&work.name, &PatchParams::default(), &Patch::Strategic(patch)).await?;
    Ok(Applied::Updated(Box::new(pod)))
}

/// Conditions are merged field by field, so what a condition no longer has must be said.
fn explicit(status: &PodStatus) -> Result<Value, serde_json::Error> {
    let mut status = serde_json::to_value(status)?;
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        for field in ["reason", "message"] {
            if condition.get(field).is_none() {
                condition[field] = Value::Null;
            }
        }
    }
    Ok(status)
}

async fn remove(pods: &Api<Pod>, work: &Work) -> Result<Applied, kube::Error> {
    let same = Preconditions { uid: Some(work.uid.to_string()), ..Preconditions::default() };
    let parameters = DeleteParams::default().grace_period(0).preconditions(same);
    let left = pods.delete(&work.name, &parameters).await?.left();
    Ok(left.filter(held).map_or(Applied::Removed, |pod| Applied::Updated(Box::new(pod))))
}

/// The API server may answer with the Pod in both cases: gone, or waiting for its finalizers.
fn held(pod: &Pod) -> bool {
    pod.metadata.finalizers.iter().flatten().next().is_some()
}
