//! Sends Pods away that do not bear the node's taints of effect NoExecute, or not for longer, as Kubernetes' taint manager does.

use std::sync::Arc;
use std::time::Duration;

use asb_core::conditions::whole_seconds;
use asb_core::pod::status::events::expelled;
use asb_core::pod::taints::{Leave, NO_EXECUTE, leave};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Taint};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::tools::Tools;

/// When to try again what did not succeed.
const AGAIN: Duration = Duration::from_secs(5);

/// The node's taints, and since when they are as they are.
struct Tainted {
    taints: Vec<Taint>,
    since: Timestamp,
}

pub(super) async fn run(tools: Arc<Tools>, stop: CancellationToken) {
    let (mut nodes, mut pods) = (tools.nodes.changes(), tools.pods.changes());
    let mut tainted = Tainted { taints: Vec::new(), since: Timestamp::now() };
    loop {
        tainted.look(&tools);
        let next = expel(&tools, &tainted).await;
        let wait = async {
            match next {
                Some(wait) => tokio::time::sleep(wait).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            Ok(()) = nodes.changed() => {}
            Ok(()) = pods.changed(), if !tainted.taints.is_empty() => {}
            () = wait => {}
        }
    }
}

impl Tainted {
    fn look(&mut self, tools: &Tools) {
        let node = tools.nodes.get("", &tools.node.name);
        let all = node.iter().flat_map(|node| node.spec.iter()).flat_map(|spec| spec.taints.iter().flatten());
        let taints: Vec<_> = all.filter(|taint| taint.effect == NO_EXECUTE).cloned().collect();
        if taints != self.taints {
            *self = Self { taints, since: Timestamp::now() };
        }
    }
}

/// Sends those away who have to go; returns when the next one has to.
async fn expel(tools: &Tools, tainted: &Tainted) -> Option<Duration> {
    let mut next = None;
    let staying = tools.bound().filter(|pod| pod.metadata.deletion_timestamp.is_none());
    for pod in staying.filter(|_| !tainted.taints.is_empty()) {
        let now = Timestamp::now();
        let due = match leave(pod.spec.as_ref()?, &tainted.taints, tainted.since, now) {
            Leave::Never => continue,
            Leave::At(then) => Duration::try_from(then.duration_since(now)).unwrap_or_default(),
            Leave::Now => match send_away(tools, &pod).await {
                Ok(()) => continue,
                Err(error) => {
                    tracing::warn!(%error, pod = ?pod.metadata.name, "cannot send a Pod away");
                    AGAIN
                }
            },
        };
        next = Some(next.map_or(due, |next: Duration| next.min(due)));
    }
    next
}

/// Says why, and deletes it. One that is gone already has left.
async fn send_away(tools: &Tools, pod: &Pod) -> Result<(), kube::Error> {
    let (Some(namespace), Some(name)) = (pod.metadata.namespace.as_deref(), pod.metadata.name.as_deref())
    else {
        return Ok(());
    };
    let api: Api<Pod> = Api::namespaced(tools.client.clone(), namespace);
    let condition = json!({
        "type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint",
        "lastTransitionTime": whole_seconds(Timestamp::now()),
    });
    let status = json!({"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}});
    let only_this = Preconditions { uid: pod.metadata.uid.clone(), resource_version: None };
    let parameters = DeleteParams { preconditions: Some(only_this), ..DeleteParams::default() };
    let sent = async {
        api.patch_status(name, &PatchParams::default(), &Patch::Strategic(status)).await?;
        api.delete(name, &parameters).await.map(drop)
    };
    match sent.await {
        Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => return Ok(()),
        other => other?,
    }
    tools.events.tell(pod, expelled(pod));
    Ok(())
}
