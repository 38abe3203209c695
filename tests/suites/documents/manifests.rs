//! Every manifest, applied as it is printed, and what the text promises of it.

use anyhow::{Context, Result};
use asb_tests::wait;
use asb_types::v1beta1::{Sandbox, SandboxTemplate, SandboxWarmPool};
use asb_types::{shorthand, v1alpha1};
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

use crate::stage::{Stage, includes, json, manifest};

#[tokio::test]
async fn a_sandbox_as_each_document_prints_it_becomes_ready() -> Result<()> {
    for printed in ["overview-sandbox", "overview-sandbox-python", "introduction-first"] {
        let stage = Stage::set().await?;
        stage.apply(printed).await?;
        let sandbox: Sandbox = stage.ready("my-sandbox").await?;
        let image = sandbox.spec.pod_template.spec.containers[0].image.clone();
        let pod = stage.api::<Pod>().get("my-sandbox").await?;
        assert_eq!(pod.spec.context("a Pod has a spec")?.containers[0].image, image);
        stage.finish().await?;
    }
    Ok(())
}

/// The third object of the listing is what users find, not what they apply.
#[tokio::test]
async fn a_claim_of_the_analysis_has_a_running_sandbox_of_its_name() -> Result<()> {
    let stage = Stage::set().await?;
    stage.apply("analysis-template").await?;
    stage.apply("analysis-claim").await?;
    stage.ready::<shorthand::SandboxTemplate>("coding-agent-template").await?;
    let claim: shorthand::SandboxClaim = stage.ready("task-abc-123").await?;
    assert_eq!(claim.status.context("it is Ready")?.mirrored.sandbox.name, "task-abc-123");
    let promised: Value = manifest("analysis-sandbox")?;
    let is_kept = |sandbox: &v1alpha1::Sandbox| includes(&json(sandbox), &promised);
    wait::for_object(&stage.api(), "task-abc-123", "as promised", is_kept).await?;
    stage.finish().await
}

#[tokio::test]
async fn a_template_spelled_as_a_pod_serves_claims() -> Result<()> {
    let stage = Stage::set().await?;
    stage.apply("overview-claim").await?;
    let message = stage.refused::<shorthand::SandboxClaim>("my-claim", "TemplateNotFound").await?;
    assert_eq!(message, "SandboxTemplate \"python-agent\" not found");
    stage.apply("overview-template").await?;
    stage.ready::<shorthand::SandboxClaim>("my-claim").await?;
    let sandbox: Sandbox = stage.ready("my-claim").await?;
    assert_eq!(sandbox.spec.pod_template.spec.containers[0].image.as_deref(), Some("python:3.11"));
    stage.finish().await
}

/// The pool is printed without a name, and nobody can apply that. It gets one here.
#[tokio::test]
async fn a_pool_of_a_size_keeps_so_many_and_a_claim_gets_one_of_them() -> Result<()> {
    let stage = Stage::set().await?;
    stage.apply("overview-template").await?;
    let nameless = stage.apply("overview-pool").await.expect_err("it has no name");
    assert!(nameless.to_string().contains("name"), "{nameless}");
    let mut pool: Value = manifest("overview-pool")?;
    pool["metadata"] = serde_json::json!({"name": "python-pool"});
    stage.kubectl(&["apply", "-f", "-"], Some(&pool.to_string())).await?;
    let is_full = |pool: &shorthand::SandboxWarmPool| {
        pool.status.as_ref().is_some_and(|status| status.mirrored.ready_replicas == 3)
    };
    wait::for_object(&stage.api(), "python-pool", "three are Ready", is_full).await?;
    stage.apply("overview-claim").await?;
    let claim: shorthand::SandboxClaim = stage.ready("my-claim").await?;
    let sandbox = claim.status.context("it is Ready")?.mirrored.sandbox.name;
    assert!(sandbox.starts_with("python-pool-"), "{sandbox}");
    stage.finish().await
}

/// Where a runtime is missing, the promise is a reason. The classes belong to the whole cluster, so one test tries them all.
#[tokio::test]
async fn runtime_classes_are_missed_until_they_are_there_and_pools_use_them() -> Result<()> {
    let stage = Stage::set().await?;
    stage.kubectl(&["delete", "runtimeclass", "gvisor", "kata", "--ignore-not-found"], None).await?;
    for (printed, name, class) in [
        ("introduction-gvisor", "ai-agent-sandbox", "gvisor"),
        ("introduction-kata-gpu", "kata-ai-sandbox", "kata-qemu-nvidia-gpu"),
    ] {
        stage.apply(printed).await?;
        let reason = stage.refused::<Sandbox>(name, "ReconcilerError").await?;
        assert!(reason.contains(&format!("RuntimeClass \"{class}\" not found")), "{reason}");
    }
    for printed in ["kubectl-ai-gvisor-class", "kubectl-ai-kata-class", "kubectl-ai-role"] {
        stage.apply(printed).await?;
    }
    stage.ready::<Sandbox>("ai-agent-sandbox").await?;
    stage.finish().await?;
    pool_of_kubectl_ai().await
}

async fn pool_of_kubectl_ai() -> Result<()> {
    let stage = Stage::computer().await?;
    stage.apply("kubectl-ai-pool").await?;
    let is_kept = |pool: &shorthand::SandboxWarmPool| {
        pool.status.as_ref().is_some_and(|status| (3..=10).contains(&status.mirrored.ready_replicas))
    };
    wait::for_object(&stage.api(), "kubectl-ai-pool", "three to ten are Ready", is_kept).await?;
    let pool = stage.api::<SandboxWarmPool>().get("kubectl-ai-pool").await?;
    assert_eq!((pool.spec.min_size, pool.spec.max_size), (Some(3), Some(10)));
    let template = stage.api::<SandboxTemplate>().get("kubectl-ai-pool").await?;
    assert_eq!(template.spec.pod_template.spec.runtime_class_name.as_deref(), Some("gvisor"));
    stage.finish().await
}
