//! Sandboxes whose Pod ended by itself, and the claims that go some time after.

use anyhow::{Context, Result};
use asb_tests::wait;
use asb_types::v1beta1::SandboxClaim;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::roles::{Role, Roles};
use crate::stage::{Stage, claim_conditions, condition, patch, said, sandbox_conditions};

const FINISHED: &str = "Finished=True PodSucceeded: Pod completed successfully";

async fn stage_of_short_lives() -> Result<Stage> {
    let stage = Stage::with(Roles::all(Role::Succeed)).await?;
    stage.template("template", json!({})).await?;
    stage.pool("pool", "template", 0).await?;
    Ok(stage)
}

async fn claim(stage: &Stage, lifecycle: Value) -> Result<SandboxClaim> {
    stage.claim("mine", "pool", json!({"lifecycle": lifecycle})).await
}

async fn finished(stage: &Stage) -> Result<SandboxClaim> {
    let is_finished = |claim: &SandboxClaim| condition(claim_conditions(claim), "Finished").is_some();
    Ok(wait::for_object(&stage.claims, "mine", "finished", is_finished).await?)
}

#[tokio::test]
async fn how_a_sandbox_ended_is_told_even_after_it_expired() -> Result<()> {
    let stage = stage_of_short_lives().await?;
    stage.sandbox("demo", json!({})).await?;
    let ended = stage.sandbox_with("demo", "Ready", "PodSucceeded").await?;
    assert!(said(sandbox_conditions(&ended)).contains(&FINISHED.to_owned()));
    let past = (Timestamp::now() - SignedDuration::from_secs(1)).to_string();
    patch(&stage.sandboxes, "demo", json!({"spec": {"shutdownTime": past}})).await?;
    let expired = stage.sandbox_with("demo", "Ready", "SandboxExpired").await?;
    assert!(said(sandbox_conditions(&expired)).contains(&FINISHED.to_owned()));
    stage.finish().await
}

#[tokio::test]
async fn a_claim_goes_some_time_after_its_sandbox_has_finished() -> Result<()> {
    let stage = stage_of_short_lives().await?;
    let lifecycle = json!({"ttlSecondsAfterFinished": 600, "shutdownPolicy": "Delete"});
    let claim = claim(&stage, lifecycle).await?;
    let told = finished(&stage).await?;
    assert!(said(claim_conditions(&told)).contains(&FINISHED.to_owned()));
    stage.clock.advance(SignedDuration::from_mins(11));
    stage.nudge(&stage.claims, "mine").await?;
    wait::for_gone(&stage.claims, &claim).await?;
    stage.finish().await
}

#[tokio::test]
async fn a_claim_without_time_to_spare_goes_at_once_and_its_sandbox_first_where_asked() -> Result<()> {
    let stage = stage_of_short_lives().await?;
    let lifecycle = json!({"ttlSecondsAfterFinished": 0, "shutdownPolicy": "DeleteForeground"});
    let claim = claim(&stage, lifecycle).await?;
    wait::for_gone(&stage.claims, &claim).await?;
    assert!(stage.sandboxes.get_opt("mine").await?.is_none());
    stage.finish().await
}

#[tokio::test]
async fn a_claim_that_is_kept_still_tells_how_its_sandbox_ended() -> Result<()> {
    let stage = stage_of_short_lives().await?;
    claim(&stage, json!({"ttlSecondsAfterFinished": 0})).await?;
    let is_over = |claim: &SandboxClaim| {
        claim.status.as_ref().is_some_and(|status| status.sandbox.name.is_empty())
            && said(claim_conditions(claim)).iter().any(|told| told.starts_with("Ready=False ClaimExpired"))
    };
    let over = wait::for_object(&stage.claims, "mine", "expired without a Sandbox", is_over).await?;
    assert!(said(claim_conditions(&over)).contains(&FINISHED.to_owned()));
    let phase = over.status.context("it has one")?.phase;
    assert_eq!(json!(phase), json!("Expired"));
    stage.finish().await
}

#[tokio::test]
async fn of_two_ends_the_earlier_counts() -> Result<()> {
    let stage = stage_of_short_lives().await?;
    let hour = (Timestamp::now() + SignedDuration::from_hours(1)).to_string();
    let lifecycle =
        json!({"ttlSecondsAfterFinished": 86400, "shutdownTime": hour, "shutdownPolicy": "Delete"});
    let claim = claim(&stage, lifecycle).await?;
    finished(&stage).await?;
    stage.clock.advance(SignedDuration::from_hours(2));
    stage.nudge(&stage.claims, "mine").await?;
    wait::for_gone(&stage.claims, &claim).await?;
    stage.finish().await
}
