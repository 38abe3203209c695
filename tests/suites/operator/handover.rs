//! Claims that come while the pool's members are still starting. Pods are kept waiting until the test lets them
//! start, and the operator's clock stands still, so that nothing here depends on how long anything takes.

use std::time::Duration;

use anyhow::{Context, Result};
use asb_tests::wait;
use asb_types::v1beta1::{Sandbox, SandboxClaim};
use jiff::SignedDuration;
use kube::ResourceExt;
use serde_json::json;

use crate::roles::{Role, Roles};
use crate::stage::{Stage, claim_conditions, ready, sandbox_conditions};

/// How long starts take, by the operator's clock.
const START: SignedDuration = SignedDuration::from_secs(20);
/// Claims say nothing about their waiting for a while.
const QUIET: SignedDuration = SignedDuration::from_secs(3);
/// How long to look, by the test's own clock, before more time is let pass.
const LOOK: Duration = Duration::from_secs(3);

/// A pool whose first members took their time, were claimed, and have successors that are starting.
async fn refilling_pool(count: usize) -> Result<Stage> {
    let stage = Stage::with(Roles::all(Role::Wait)).await?;
    stage.template("pool", json!({})).await?;
    stage.pool("pool", "pool", count).await?;
    let first = stage.sandboxes_in_number(count).await?;
    stage.clock.advance(START);
    stage.clock.stop();
    for sandbox in &first {
        stage.start(&sandbox.name_any()).await?;
        stage.ready_sandbox(&sandbox.name_any()).await?;
    }
    for number in 0..count {
        stage.claim(&format!("first-{number}"), "pool", json!({})).await?;
        stage.ready_claim(&format!("first-{number}")).await?;
    }
    stage.sandboxes_in_number(2 * count).await?;
    Ok(stage)
}

async fn starting(stage: &Stage) -> Result<Vec<String>> {
    let is_ready =
        |sandbox: &Sandbox| ready(sandbox_conditions(sandbox)).is_some_and(|it| it.status == "True");
    let sandboxes = stage.sandboxes.list(&kube::api::ListParams::default()).await?;
    Ok(sandboxes.iter().filter(|sandbox| !is_ready(sandbox)).map(ResourceExt::name_any).collect())
}

/// Lets time pass until a claim says that it waits. Nothing shows when the operator first saw it, and its time began then.
async fn says_that_it_waits(stage: &Stage, name: &str) -> Result<()> {
    let is_said = |claim: &SandboxClaim| {
        ready(claim_conditions(claim)).is_some_and(|ready| ready.reason == "AdoptionPending")
    };
    for _ in 0..5 {
        stage.nudge(&stage.claims, name).await?;
        let told = wait::for_object_within(LOOK, &stage.claims, name, "waiting", is_said).await;
        if told.is_ok() {
            return Ok(());
        }
        stage.clock.advance(QUIET);
    }
    anyhow::bail!("claim {name} does not say that it waits")
}

#[tokio::test]
async fn claims_wait_for_members_that_are_starting_and_are_served_in_their_order() -> Result<()> {
    let stage = refilling_pool(3).await?;
    let members = starting(&stage).await?;
    let claims = ["a", "b", "c"];
    for name in claims {
        stage.claim(name, "pool", json!({})).await?;
    }
    stage.clock.advance(QUIET);
    for name in claims {
        says_that_it_waits(&stage, name).await?;
    }
    // The last that was made starts first: it is the claim's turn that counts.
    for (name, member) in claims.iter().zip(members.iter().rev()) {
        stage.start(member).await?;
        let status = stage.ready_claim(name).await?.status.context("it is Ready")?;
        assert_eq!(&status.sandbox.name, member);
        assert_eq!(json!(status.launch.context("it was launched")?.r#type), json!("Warm"));
    }
    stage.finish().await
}

#[tokio::test]
async fn a_claim_that_waited_as_long_as_a_start_takes_goes_cold() -> Result<()> {
    let stage = refilling_pool(1).await?;
    stage.claim("mine", "pool", json!({})).await?;
    stage.clock.advance(QUIET);
    says_that_it_waits(&stage, "mine").await?;
    stage.clock.advance(START * 2);
    stage.nudge(&stage.claims, "mine").await?;
    stage.start("mine").await?;
    let launch = stage.ready_claim("mine").await?.status.context("it is Ready")?.launch;
    assert_eq!(launch.context("it was launched")?.reason, "WaitedInVain");
    stage.finish().await
}
