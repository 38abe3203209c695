//! The Node object and its Lease.

use anyhow::{Context, Result};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::cluster::{Cluster, NODE, become_so};

fn nodes(cluster: &Cluster) -> Api<Node> {
    Api::all(cluster.client.clone())
}

fn taints(node: &Node) -> Vec<String> {
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    taints.map(|taint| taint.key.clone()).collect()
}

fn is_ready(node: &Node) -> bool {
    let mut conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|known| known.type_ == "Ready" && known.status == "True")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_there_ready_and_without_taints() -> Result<()> {
    let cluster = Cluster::start().await?;
    let presence = cluster.presence().await?;
    let node = nodes(&cluster).get(NODE).await?;
    assert!(is_ready(&node) && taints(&node).is_empty(), "{node:?}");
    let allocatable = node.status.context("a status")?.allocatable.context("what Pods may use")?;
    assert_eq!(&allocatable, &presence.capacity().allocatable);
    assert_eq!(allocatable["pods"].0, "1100");
    let leases: Api<Lease> = Api::namespaced(cluster.client.clone(), "kube-node-lease");
    let lease = leases.get(NODE).await?;
    assert_eq!(lease.metadata.owner_references.context("an owner")?[0].name, NODE);
    let spec = lease.spec.context("terms")?;
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_duration_seconds), (Some(NODE), Some(40)));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_there_is_taken_over_with_what_users_set() -> Result<()> {
    let cluster = Cluster::start().await?;
    drop(cluster.presence().await?);
    let patch = json!({
        "metadata": {"labels": {"disk": "fast", "kubernetes.io/hostname": "wrong"}},
        "spec": {"unschedulable": true, "taints": [
            {"key": "mine", "effect": "NoSchedule"}, {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
        ]},
    });
    nodes(&cluster).patch(NODE, &PatchParams::default(), &Patch::Merge(patch)).await?;
    let before = nodes(&cluster).get(NODE).await?;
    let _presence = cluster.presence().await?;
    let node = nodes(&cluster).get(NODE).await?;
    assert_eq!(node.metadata.uid, before.metadata.uid);
    assert_eq!(taints(&node), ["mine"]);
    let labels = node.metadata.labels.context("labels")?;
    assert_eq!((labels["disk"].as_str(), labels["kubernetes.io/hostname"].as_str()), ("fast", NODE));
    assert_eq!(node.spec.context("a spec")?.unschedulable, Some(true));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_somebody_deletes_or_changes_is_put_right_and_then_left_alone() -> Result<()> {
    let cluster = Cluster::start().await?;
    let presence = cluster.presence().await?;
    let before = nodes(&cluster).get(NODE).await?;
    nodes(&cluster).delete(NODE, &DeleteParams::default()).await?;
    let is_new =
        |node: &Node| node.metadata.uid != before.metadata.uid && is_ready(node) && taints(node).is_empty();
    become_so(nodes(&cluster), NODE, is_new).await?;
    let patch = json!({"status": {"addresses": null, "capacity": {"cpu": "999", "example.com/gpu": "1"}}});
    nodes(&cluster).patch_status(NODE, &PatchParams::default(), &Patch::Merge(patch)).await?;
    let cpu = presence.capacity().allocatable["cpu"].clone();
    let is_right = |node: &Node| {
        let status = node.status.clone().unwrap_or_default();
        let capacity = status.capacity.unwrap_or_default();
        capacity["cpu"] == cpu && capacity.contains_key("example.com/gpu") && status.addresses.is_some()
    };
    let node = become_so(nodes(&cluster), NODE, is_right).await?;
    // Every write wakes the keeper once more: a second one would follow from the first.
    let mut changes = presence.nodes().changes();
    let more = tokio::time::timeout(std::time::Duration::from_millis(300), async {
        loop {
            changes.changed().await?;
            let now = presence.node().context("a node")?;
            if now.metadata.resource_version != node.metadata.resource_version && is_right(&now) {
                return Ok::<_, anyhow::Error>(now);
            }
        }
    });
    assert!(more.await.is_err(), "the Node is written again and again");
    Ok(())
}
