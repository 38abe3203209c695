//! Suspended Sandboxes whose Pods do not go at once, or not at all.

use anyhow::{Context, Result};
use asb_tests::wait;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};

use crate::stage::{Stage, condition, patch, ready, said, sandbox_conditions};

const LONG: SignedDuration = SignedDuration::from_mins(10);

async fn suspend(stage: &Stage) -> Result<()> {
    patch(&stage.sandboxes, "demo", json!({"spec": {"operatingMode": "Suspended"}})).await.map(drop)
}

fn pod_spec(more: Value) -> Value {
    json!({"podTemplate": {"spec": more}})
}

#[tokio::test]
async fn a_sandbox_is_suspending_until_its_pod_is_gone() -> Result<()> {
    let stage = Stage::set().await?;
    stage.sandbox("demo", json!({})).await?;
    stage.ready_sandbox("demo").await?;
    patch(&stage.pods, "demo", json!({"metadata": {"finalizers": ["asb.test/hold"]}})).await?;
    suspend(&stage).await?;
    let suspending = stage.sandbox_with("demo", "Suspended", "PodTerminating").await?;
    let told = said(sandbox_conditions(&suspending));
    assert!(told.contains(&"Ready=False SandboxSuspended: Sandbox is suspending".to_owned()), "{told:?}");

    patch(&stage.pods, "demo", json!({"metadata": {"finalizers": null}})).await?;
    let suspended = stage.sandbox_with("demo", "Suspended", "PodTerminated").await?;
    let told = said(sandbox_conditions(&suspended));
    assert!(told.contains(&"Ready=False SandboxSuspended: Sandbox is suspended".to_owned()), "{told:?}");
    stage.finish().await
}

#[tokio::test]
async fn a_pod_that_finalizers_keep_for_long_is_called_stuck() -> Result<()> {
    let stage = Stage::set().await?;
    stage.sandbox("demo", json!({})).await?;
    stage.ready_sandbox("demo").await?;
    patch(&stage.pods, "demo", json!({"metadata": {"finalizers": ["asb.test/hold"]}})).await?;
    suspend(&stage).await?;
    let is_ended = |pod: &Pod| pod.metadata.deletion_grace_period_seconds == Some(0);
    wait::for_object(&stage.pods, "demo", "confirmed to have ended", is_ended).await?;
    stage.clock.advance(LONG);
    stage.nudge(&stage.sandboxes, "demo").await?;
    let stuck = stage.sandbox_with("demo", "Ready", "PodStuckTerminating").await?;
    let message = &ready(sandbox_conditions(&stuck)).context("just seen")?.message;
    assert_eq!(message, "Pod \"demo\" has ended and is kept by its finalizers");

    patch(&stage.pods, "demo", json!({"metadata": {"finalizers": null}})).await?;
    stage.sandbox_with("demo", "Suspended", "PodTerminated").await?;
    stage.finish().await
}

#[tokio::test]
async fn a_pod_on_a_node_that_is_gone_is_removed_by_force() -> Result<()> {
    let stage = Stage::set().await?;
    stage.sandbox("demo", pod_spec(json!({"nodeName": format!("gone-{}", stage.namespace)}))).await?;
    let pod = wait::for_object(&stage.pods, "demo", "made", |_: &Pod| true).await?;
    suspend(&stage).await?;
    stage.sandbox_with("demo", "Suspended", "PodTerminating").await?;
    stage.clock.advance(LONG);
    stage.nudge(&stage.sandboxes, "demo").await?;
    wait::for_gone(&stage.pods, &pod).await?;
    stage.sandbox_with("demo", "Suspended", "PodTerminated").await?;
    stage.finish().await
}

#[tokio::test]
async fn a_pod_on_a_node_that_is_only_silent_is_kept_until_somebody_vouches_for_it() -> Result<()> {
    let stage = Stage::set().await?;
    let (nodes, name) = (Api::<Node>::all(stage.cluster.client()), format!("silent-{}", stage.namespace));
    let node = json!({"metadata": {"name": name}});
    let node = nodes.create(&PostParams::default(), &serde_json::from_value(node)?).await?;
    stage.sandbox("demo", pod_spec(json!({"nodeName": name}))).await?;
    let pod = wait::for_object(&stage.pods, "demo", "made", |_: &Pod| true).await?;
    suspend(&stage).await?;
    stage.sandbox_with("demo", "Suspended", "PodTerminating").await?;
    stage.clock.advance(LONG);
    stage.nudge(&stage.sandboxes, "demo").await?;
    let stuck = stage.sandbox_with("demo", "Ready", "PodStuckTerminating").await?;
    let message = &ready(sandbox_conditions(&stuck)).context("just seen")?.message;
    assert!(message.contains(&name) && message.contains("out-of-service"), "{message}");
    assert!(stage.pods.get_opt("demo").await?.is_some());

    let taint =
        json!({"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"});
    patch(&nodes, &name, json!({"spec": {"taints": [taint]}})).await?;
    stage.nudge(&stage.sandboxes, "demo").await?;
    wait::for_gone(&stage.pods, &pod).await?;
    nodes.delete(&name, &DeleteParams::default()).await?;
    wait::for_gone(&nodes, &node).await?;
    stage.finish().await
}

#[tokio::test]
async fn several_pods_of_one_sandbox_are_left_to_a_person() -> Result<()> {
    let stage = Stage::set().await?;
    stage.sandbox("demo", json!({})).await?;
    stage.ready_sandbox("demo").await?;
    let mut second = stage.pods.get("demo").await?;
    second.metadata.name = Some("other".to_owned());
    (second.metadata.uid, second.metadata.resource_version, second.status) = (None, None, None);
    stage.pods.create(&PostParams::default(), &second).await?;
    let refused = stage.sandbox_with("demo", "Ready", "MultiplePods").await?;
    let message = &condition(sandbox_conditions(&refused), "Ready").context("just seen")?.message;
    assert_eq!(
        message,
        "multiple Pods (2) are controlled by this Sandbox; refusing to choose or create a Pod"
    );
    stage.pods.delete("other", &DeleteParams::default()).await?;
    stage.ready_sandbox("demo").await?;
    stage.finish().await
}
