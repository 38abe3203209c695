//! What a claim costs: the API server is the bottleneck of a cluster, and writes are the currency.

use anyhow::Result;
use asb_tests::wait;
use asb_types::annotations::CLAIM_FIRST_READY_AT;
use asb_types::v1beta1::{Sandbox, SandboxClaim};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;

use crate::stage::{Stage, claim_conditions, ready, sandbox_conditions};

/// What the operator may write for one warm claim: the transfer, the claim's status and stamps, an event, the labels of
/// the Pod and the status of the Sandbox that was handed over, and for the member that follows Sandbox, Pod and status.
const PER_CLAIM: [(&str, usize); 8] = [
    ("PATCH sandboxes", 1),
    ("PATCH sandboxclaims/status", 1),
    ("PATCH sandboxclaims", 1),
    ("POST events", 1),
    ("PATCH pods", 1),
    ("POST sandboxes", 1),
    ("POST pods", 1),
    ("PATCH sandboxes/status", 2),
];

async fn all_done(stage: &Stage, claims: usize, members: usize) -> Result<()> {
    let is_done = |claim: &SandboxClaim| {
        let is_ready = ready(claim_conditions(claim)).is_some_and(|ready| ready.status == "True");
        is_ready && claim.annotations().contains_key(CLAIM_FIRST_READY_AT)
    };
    let all = |list: &[&SandboxClaim]| list.len() == claims && list.iter().all(|claim| is_done(claim));
    wait::for_objects(&stage.claims, "", "Ready and stamped", all).await?;
    let is_labelled = |pod: &Pod| pod.labels().contains_key(asb_types::labels::CLAIM_UID);
    let handed_over = |pods: &[&Pod]| pods.iter().filter(|pod| is_labelled(pod)).count() == claims;
    wait::for_objects(&stage.pods, "", "Pods handed over", handed_over).await?;
    stage.pool_with("pool", members).await?;
    let events = || async { (stage.ledger.count("POST events") >= claims).then_some(()) };
    Ok(wait::until(wait::DEADLINE, "all events", events).await?)
}

/// How many Sandboxes took so long to become Ready that they said in between how they are: after five seconds, on a busy
/// machine.
async fn slow_starts(stage: &Stage) -> Result<usize> {
    let is_slow = |sandbox: &Sandbox| {
        let created = sandbox.creation_timestamp().map(|created| created.0);
        let ready = ready(sandbox_conditions(sandbox)).map(|ready| ready.last_transition_time.0);
        created.zip(ready).is_some_and(|(created, ready)| ready.duration_since(created).as_secs() >= 4)
    };
    Ok(stage.sandboxes.list(&ListParams::default()).await?.iter().filter(|sandbox| is_slow(sandbox)).count())
}

#[tokio::test]
async fn a_warm_claim_is_ready_after_two_writes_of_ours() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 1).await?;
    let before = stage.ledger.entries().len();
    stage.claim("mine", "pool", json!({})).await?;
    stage.ready_claim("mine").await?;
    let writes = stage.ledger.entries().split_off(before);
    let on_the_way = writes.iter().map(ToString::to_string).filter(|write| {
        // The member that follows and the labels of the Pod are on their way beside it.
        write == "PATCH sandboxes" || write.contains("sandboxclaims")
    });
    let on_the_way: Vec<_> = on_the_way.take(2).collect();
    assert_eq!(on_the_way, ["PATCH sandboxes", "PATCH sandboxclaims/status"]);
    stage.finish().await
}

#[tokio::test]
async fn fifty_warm_claims_cost_what_they_may() -> Result<()> {
    let stage = Stage::set().await?;
    let (claims, members) = (50, 10);
    stage.full_pool("pool", members).await?;
    stage.pool_with("pool", members).await?;
    let before: Vec<_> = PER_CLAIM.iter().map(|(write, _)| stage.ledger.count(write)).collect();
    let (all_before, told_before) =
        (stage.ledger.entries().len(), stage.ledger.count("PATCH sandboxwarmpools/status"));
    for number in 0..claims {
        stage.claim(&format!("claim-{number}"), "pool", json!({})).await?;
        stage.ready_claim(&format!("claim-{number}")).await?;
    }
    all_done(&stage, claims, members).await?;
    let slow = slow_starts(&stage).await?;
    for ((write, limit), before) in PER_CLAIM.iter().zip(before) {
        let count = stage.ledger.count(write) - before;
        let more = if *write == "PATCH sandboxes/status" { slow } else { 0 };
        assert!(
            count <= limit * claims + more,
            "{write}: {count} for {claims} claims, {slow} started slowly"
        );
    }
    let told = stage.ledger.count("PATCH sandboxwarmpools/status") - told_before;
    assert!(told * 5 <= claims, "the pool told its status {told} times");
    let all = stage.ledger.entries().len() - all_before;
    assert!(all <= 9 * claims + told + slow, "{all} writes");
    stage.finish().await
}

#[tokio::test]
async fn a_world_that_is_settled_is_left_alone() -> Result<()> {
    let mut stage = Stage::set().await?;
    stage.full_pool("pool", 2).await?;
    stage.claim("mine", "pool", json!({})).await?;
    stage.sandbox("demo", json!({"service": true})).await?;
    stage.ready_sandbox("demo").await?;
    all_done(&stage, 1, 2).await?;
    stage.canary("canary").await?;
    for round in 0..2 {
        let before = stage.ledger.entries().len();
        stage.nudge(&stage.claims, "mine").await?;
        stage.nudge(&stage.pools, "pool").await?;
        stage.nudge(&stage.templates, "pool").await?;
        stage.nudge(&stage.sandboxes, "demo").await?;
        stage.nudge(&stage.pods, "demo").await?;
        let canary = format!("canary-{round}");
        stage.canary(&canary).await?;
        let writes = stage.ledger.entries().split_off(before);
        let others: Vec<_> = writes.iter().filter(|write| write.name != canary).collect();
        assert!(others.is_empty(), "{others:?}");
        // The same once more by an operator that has just been started.
        stage.restart().await?;
    }
    stage.finish().await
}
