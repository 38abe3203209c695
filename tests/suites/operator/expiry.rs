//! How Sandboxes and claims end by themselves.

use anyhow::{Context, Result};
use asb_tests::wait;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::stage::{Stage, patch, said, sandbox_conditions};

fn soon() -> String {
    (Timestamp::now() - SignedDuration::from_secs(1)).to_string()
}

#[tokio::test]
async fn an_expired_sandbox_is_kept_without_its_pod_and_can_be_revived() -> Result<()> {
    let stage = Stage::set().await?;
    stage.sandbox("demo", json!({"service": true})).await?;
    stage.ready_sandbox("demo").await?;
    let pod = stage.pods.get("demo").await?;
    patch(&stage.sandboxes, "demo", json!({"spec": {"shutdownTime": soon()}})).await?;
    wait::for_gone(&stage.pods, &pod).await?;
    let expired = stage.sandbox_with("demo", "Ready", "SandboxExpired").await?;
    assert!(
        said(sandbox_conditions(&expired))
            .contains(&"Ready=False SandboxExpired: Sandbox has expired".to_owned())
    );
    patch(&stage.sandboxes, "demo", json!({"spec": {"shutdownTime": null}})).await?;
    stage.ready_sandbox("demo").await?;
    stage.finish().await
}

#[tokio::test]
async fn an_expired_sandbox_with_policy_delete_goes() -> Result<()> {
    let stage = Stage::set().await?;
    let sandbox = stage.sandbox("demo", json!({"shutdownPolicy": "Delete"})).await?;
    stage.ready_sandbox("demo").await?;
    patch(&stage.sandboxes, "demo", json!({"spec": {"shutdownTime": soon()}})).await?;
    wait::for_gone(&stage.sandboxes, &sandbox).await?;
    stage.finish().await
}

#[tokio::test]
async fn an_expired_claim_loses_its_sandbox_and_stays() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 1).await?;
    stage.claim("mine", "pool", json!({})).await?;
    let name = stage.ready_claim("mine").await?.status.context("it is Ready")?.sandbox.name;
    let sandbox = stage.sandboxes.get(&name).await?;
    patch(&stage.claims, "mine", json!({"spec": {"lifecycle": {"shutdownTime": soon()}}})).await?;
    stage.claim_with("mine", "ClaimExpired").await?;
    wait::for_gone(&stage.sandboxes, &sandbox).await?;
    stage.finish().await
}

#[tokio::test]
async fn an_expired_claim_with_policy_delete_goes_with_its_sandbox() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 1).await?;
    let claim =
        stage.claim("mine", "pool", json!({"lifecycle": {"shutdownPolicy": "DeleteForeground"}})).await?;
    let name = stage.ready_claim("mine").await?.status.context("it is Ready")?.sandbox.name;
    let sandbox = stage.sandboxes.get(&name).await?;
    let lifecycle =
        json!({"spec": {"lifecycle": {"shutdownTime": soon(), "shutdownPolicy": "DeleteForeground"}}});
    patch(&stage.claims, "mine", lifecycle).await?;
    wait::for_gone(&stage.claims, &claim).await?;
    wait::for_gone(&stage.sandboxes, &sandbox).await?;
    stage.finish().await
}
