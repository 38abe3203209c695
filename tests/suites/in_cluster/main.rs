//! The operator where its users have it: its image on a real node, installed with the chart, under its own account, with Pods
//! that run.

use std::time::Duration;

use anyhow::{Context, Result};
use asb_tests::installation::Installation;
use asb_tests::objects::create;
use asb_tests::{Cluster, Namespace, wait};
use asb_types::{v1alpha1, v1beta1};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::{Value, json};

/// Pods of real containers take their time, and two operators have to agree first.
const PATIENCE: Duration = Duration::from_mins(2);

fn pod_template() -> Value {
    let script = "trap 'exit 0' TERM; while :; do sleep 1; done";
    let container = json!({"name": "main", "image": "asb.test/busybox:1", "command": ["sh", "-c", script]});
    json!({"spec": {"containers": [container], "terminationGracePeriodSeconds": 1}})
}

fn is_ready(conditions: &[Condition]) -> bool {
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

async fn ready_sandbox(namespace: &Namespace, name: &str) -> Result<v1beta1::Sandbox> {
    let is_ready =
        |sandbox: &v1beta1::Sandbox| sandbox.status.as_ref().is_some_and(|it| is_ready(&it.conditions));
    Ok(wait::for_object_within(PATIENCE, &namespace.api(), name, "Ready", is_ready).await?)
}

async fn ready_claim(namespace: &Namespace, name: &str) -> Result<String> {
    let is_ready =
        |claim: &v1beta1::SandboxClaim| claim.status.as_ref().is_some_and(|it| is_ready(&it.conditions));
    let claim = wait::for_object_within(PATIENCE, &namespace.api(), name, "Ready", is_ready).await?;
    Ok(claim.status.context("it is Ready")?.sandbox.name)
}

/// Objects are readable in the older version: the API server found the webhook, and trusts it.
async fn converts(namespace: &Namespace) -> Result<()> {
    let older = namespace.api::<v1alpha1::Sandbox>();
    let read = || async { older.get("demo").await.ok() };
    let read = wait::until(PATIENCE, "the API server to convert", read).await?;
    assert_eq!(read.spec.replicas, 1);
    Ok(())
}

async fn answers(cluster: &Cluster, namespace: &str, pod: &str) -> Result<()> {
    let said = cluster.kubectl(&["exec", "-n", namespace, pod, "--", "hostname"], None).await?.success()?;
    assert_eq!(said.trim(), pod);
    Ok(())
}

async fn pods(namespace: &Namespace) -> Result<Vec<(String, Option<String>)>> {
    let list = namespace.api::<Pod>().list(&ListParams::default()).await?;
    Ok(list.into_iter().map(|pod| (pod.name_any(), pod.uid())).collect())
}

async fn a_sandbox_a_claim_and_a_pool(cluster: &Cluster, namespace: &Namespace) -> Result<()> {
    create::<v1beta1::Sandbox>(namespace, "demo", json!({"podTemplate": pod_template()})).await?;
    create::<v1beta1::SandboxTemplate>(namespace, "python", json!({"podTemplate": pod_template()})).await?;
    let pool = json!({"replicas": 1, "sandboxTemplateRef": {"name": "python"}});
    create::<v1beta1::SandboxWarmPool>(namespace, "pool", pool).await?;
    ready_sandbox(namespace, "demo").await?;
    answers(cluster, namespace, "demo").await?;
    full_pool(namespace).await?;
    create::<v1beta1::SandboxClaim>(namespace, "mine", json!({"warmPoolRef": {"name": "pool"}})).await?;
    let sandbox = ready_claim(namespace, "mine").await?;
    assert!(sandbox.starts_with("pool-"), "{sandbox}");
    answers(cluster, namespace, &sandbox).await?;
    full_pool(namespace).await
}

async fn full_pool(namespace: &Namespace) -> Result<()> {
    let is_full =
        |pool: &v1beta1::SandboxWarmPool| pool.status.as_ref().is_some_and(|it| it.ready_replicas == 1);
    wait::for_object_within(PATIENCE, &namespace.api(), "pool", "full", is_full).await?;
    Ok(())
}

/// One story, because there is one installation to a cluster.
#[tokio::test]
async fn the_chart_installs_an_operator_that_works_is_replaced_and_leaves_sandboxes_alone() -> Result<()> {
    let cluster = Cluster::connect().await?;
    let installation = Installation::make(&cluster, "replicaCount=2").await?;
    let namespace = cluster.namespace().await?;
    installation.available(2).await?;
    a_sandbox_a_claim_and_a_pool(&cluster, &namespace).await?;
    converts(&namespace).await?;

    installation.lose_the_leader().await?;
    create::<v1beta1::Sandbox>(&namespace, "next", json!({"podTemplate": pod_template()})).await?;
    ready_sandbox(&namespace, "next").await?;

    let before = pods(&namespace).await?;
    installation.upgrade("replicaCount=1").await?;
    installation.available(1).await?;
    converts(&namespace).await?;
    installation.remove().await?;
    assert_eq!(pods(&namespace).await?, before);
    namespace.finish().await;
    Ok(())
}
