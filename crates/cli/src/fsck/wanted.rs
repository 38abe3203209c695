//! What ought to be on this machine, as the API server has it.

use anyhow::{Context, Result};
use asb_client::Client;
use asb_node::fsck::{Wanted, WantedPod};
use k8s_openapi::api::core::v1::{PersistentVolume, Pod};
use kube::api::ListParams;
use kube::{Api, ResourceExt};

pub(super) async fn ask(client: &Client, node: Option<&str>) -> Result<Wanted> {
    let pods: Api<Pod> = Api::all(client.kube().clone());
    let volumes: Api<PersistentVolume> = Api::all(client.kube().clone());
    let pods = pods.list(&ListParams::default()).await.context("cannot ask for Pods")?;
    let volumes = volumes.list(&ListParams::default()).await.context("cannot ask for volumes")?;
    Ok(Wanted {
        pods: pods.iter().map(|pod| of_pod(pod, node)).collect(),
        volumes: volumes.iter().map(ResourceExt::name_any).collect(),
    })
}

/// One of another node, or of none, owns what is left of it here, and need not run.
fn of_pod(pod: &Pod, node: Option<&str>) -> WantedPod {
    let spec = pod.spec.as_ref();
    let is_here = node.is_some() && spec.and_then(|spec| spec.node_name.as_deref()) == node;
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    WantedPod {
        uid: pod.uid().unwrap_or_default(),
        namespace: pod.namespace().unwrap_or_default(),
        name: pod.name_any(),
        runs: is_here && phase == Some("Running") && pod.metadata.deletion_timestamp.is_none(),
        host_network: spec.and_then(|spec| spec.host_network).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(node: &str, phase: &str) -> Pod {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "b", "uid": "c"},
            "spec": {"nodeName": node, "containers": []}, "status": {"phase": phase}});
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn a_pod_ought_to_run_where_it_is_said_to() {
        let runs = |node: &str, phase: &str, here: Option<&str>| of_pod(&pod(node, phase), here).runs;
        assert!(runs("n1", "Running", Some("n1")));
        assert!(!runs("n1", "Pending", Some("n1")));
        assert!(!runs("n2", "Running", Some("n1")));
        assert!(!runs("n1", "Running", None));
    }
}
