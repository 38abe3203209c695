//! How Sandboxes and claims end by themselves.

use anyhow::{Context, Result};
use asb_tests::wait;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Service;
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::stage::{Stage, claim_conditions, patch, said, sandbox_conditions};

fn soon() -> String {
    (Timestamp::now() - SignedDuration::from_secs(1)).to_string()
}

#[tokio::test]
async fn an_expired_sandbox_is_kept_without_its_pod_and_can_be_revived() -> Result<()> {
    let stage = Stage::set().await?;
    stage.sandbox("demo", json!({"service": true})).await?;
    stage.ready_sandbox("demo").await?;
    let services: Api<Service> = stage.namespace.api();
    let (pod, service) = (stage.pods.get("demo").await?, services.get("demo").await?);
    patch(&stage.sandboxes, "demo", json!({"spec": {"shutdownTime": soon()}})).await?;
    wait::for_gone(&stage.pods, &pod).await?;
    wait::for_gone(&services, &service).await?;
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
async fn an_expired_claim_goes_after_its_sandbox_where_asked() -> Result<()> {
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
    let left = stage.sandboxes.get_opt(&name).await?;
    assert!(left.is_none_or(|left| left.uid() != sandbox.uid()), "the claim goes last");
    stage.finish().await
}

#[tokio::test]
async fn a_claim_that_is_given_more_time_gets_a_sandbox_again() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 1).await?;
    stage.claim("mine", "pool", json!({"lifecycle": {"shutdownTime": soon()}})).await?;
    stage.claim_with("mine", "ClaimExpired").await?;
    patch(&stage.claims, "mine", json!({"spec": {"lifecycle": {"shutdownTime": null}}})).await?;
    stage.ready_claim("mine").await?;
    stage.finish().await
}

#[tokio::test]
async fn what_is_kept_after_its_expiry_goes_when_its_time_is_over() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 1).await?;
    let lifecycle = json!({"shutdownTime": soon(), "ttlSecondsAfterExpired": 3600});
    let claim = stage.claim("mine", "pool", json!({"lifecycle": lifecycle})).await?;
    let sandbox = stage.sandbox("demo", lifecycle).await?;
    stage.claim_with("mine", "ClaimExpired").await?;
    stage.sandbox_with("demo", "Ready", "SandboxExpired").await?;

    stage.clock.advance(SignedDuration::from_mins(59));
    stage.nudge(&stage.claims, "mine").await?;
    stage.nudge(&stage.sandboxes, "demo").await?;
    stage.canary("canary").await?;
    assert!(
        stage.claims.get_opt("mine").await?.is_some() && stage.sandboxes.get_opt("demo").await?.is_some()
    );

    stage.clock.advance(SignedDuration::from_mins(2));
    stage.nudge(&stage.claims, "mine").await?;
    stage.nudge(&stage.sandboxes, "demo").await?;
    wait::for_gone(&stage.claims, &claim).await?;
    wait::for_gone(&stage.sandboxes, &sandbox).await?;
    stage.finish().await
}

#[tokio::test]
async fn a_claim_that_may_not_be_deleted_is_not_written_about_again_and_again() -> Result<()> {
    let stage = Stage::set().await?;
    stage.ledger.forbid("DELETE sandboxclaims");
    let lifecycle = json!({"lifecycle": {"shutdownTime": soon(), "shutdownPolicy": "Delete"}});
    let claim = stage.claim("mine", "pool", lifecycle).await?;
    let tried = || async { (stage.ledger.count("DELETE sandboxclaims") >= 6).then_some(()) };
    wait::until(wait::DEADLINE, "six tries", tried).await?;
    let told = stage.ledger.count("PATCH sandboxclaims/status");
    assert_eq!(told, 2, "that it expired, and that it cannot be deleted");
    let expired = stage.claim_with("mine", "ClaimExpired").await?;
    let ready = "Ready=False ClaimExpired: Claim expired. Error seen: you may not";
    assert_eq!(said(claim_conditions(&expired)), [ready]);

    stage.ledger.allow("DELETE sandboxclaims");
    wait::for_gone(&stage.claims, &claim).await?;
    stage.finish().await
}
