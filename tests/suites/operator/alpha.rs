//! Objects written as v1alpha1, as older clients do.

use anyhow::{Context, Result};
use asb_tests::conversion::ensure_conversion;
use asb_tests::wait;
use asb_types::v1alpha1;
use kube::Api;
use serde_json::json;

use crate::roles::pod_template;
use crate::stage::{Stage, create, patch, ready};

async fn stage() -> Result<Stage> {
    let stage = Stage::set().await?;
    ensure_conversion(&stage.cluster).await?;
    Ok(stage)
}

fn is_ready(claim: &v1alpha1::SandboxClaim) -> bool {
    let status = claim.status.as_ref();
    status.is_some_and(|status| ready(&status.conditions).is_some_and(|ready| ready.status == "True"))
}

#[tokio::test]
async fn a_claim_by_template_takes_from_any_pool_of_it_or_from_the_one_it_names_or_from_none() -> Result<()> {
    let stage = stage().await?;
    stage.template("python", json!({})).await?;
    for pool in ["one", "two"] {
        stage.pool(pool, "python", 2).await?;
        stage.pool_with(pool, 2).await?;
    }
    let claims: Api<v1alpha1::SandboxClaim> = stage.namespace.api();
    let template = json!({"name": "python"});
    for (name, spec, sandbox) in [
        ("any", json!({"sandboxTemplateRef": template}), ""),
        ("named", json!({"sandboxTemplateRef": template, "warmpool": "two"}), "two-"),
        ("none", json!({"sandboxTemplateRef": template, "warmpool": "none"}), "none"),
    ] {
        let _: v1alpha1::SandboxClaim = create(&claims, name, spec).await?;
        let claim = wait::for_object(&claims, name, "Ready", is_ready).await?;
        let bound = claim.status.context("it is Ready")?.sandbox.name;
        let is_warm = bound.starts_with("one-") || bound.starts_with("two-");
        assert!(bound.starts_with(sandbox) && is_warm == (name != "none"), "{name}: {bound}");
        assert_eq!(claim.spec.sandbox_template_ref.name, "python");
    }
    stage.finish().await
}

#[tokio::test]
async fn a_claim_by_a_template_that_no_pool_has_starts_fresh() -> Result<()> {
    let stage = stage().await?;
    let claims: Api<v1alpha1::SandboxClaim> = stage.namespace.api();
    let _: v1alpha1::SandboxClaim =
        create(&claims, "mine", json!({"sandboxTemplateRef": {"name": "python"}})).await?;
    stage.claim_with("mine", "TemplateNotFound").await?;
    stage.template("python", json!({})).await?;
    let claim = wait::for_object(&claims, "mine", "Ready", is_ready).await?;
    assert_eq!(claim.status.context("it is Ready")?.sandbox.name, "mine");
    stage.finish().await
}

#[tokio::test]
async fn a_sandbox_of_no_replicas_is_suspended() -> Result<()> {
    let stage = stage().await?;
    let sandboxes: Api<v1alpha1::Sandbox> = stage.namespace.api();
    let spec = json!({"podTemplate": pod_template(), "replicas": 1});
    let _: v1alpha1::Sandbox = create(&sandboxes, "demo", spec).await?;
    stage.ready_sandbox("demo").await?;
    patch(&sandboxes, "demo", json!({"spec": {"replicas": 0}})).await?;
    stage.sandbox_with("demo", "Suspended", "PodTerminated").await?;
    patch(&sandboxes, "demo", json!({"spec": {"replicas": 1}})).await?;
    stage.ready_sandbox("demo").await?;
    stage.finish().await
}
