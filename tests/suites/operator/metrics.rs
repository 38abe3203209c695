//! What an operator's metrics say after things have happened, and that restarts make nothing happen twice.

use anyhow::Result;
use asb_tests::wait;
use asb_types::annotations::{CLAIM_FIRST_READY_AT, CLIENT_FIRST_REQUESTED_AT};
use asb_types::v1beta1::SandboxClaim;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use kube::api::PostParams;
use serde_json::json;

use crate::roles::{Role, Roles};
use crate::stage::{Stage, patch};

const STARTUP: &str = "agent_sandbox_claim_controller_startup_latency_ms_count";
const STEPS: &str = "agent_sandbox_claim_step_seconds_count";

/// The sum of all samples of a name that bear these labels.
fn sum(text: &str, name: &str, labels: &[&str]) -> u64 {
    let samples = text.lines().filter_map(|line| line.rsplit_once(' '));
    let wanted = samples.filter(|(series, _)| {
        let (own, rest) = series.split_once('{').unwrap_or((series, ""));
        own == name && labels.iter().all(|label| rest.contains(label))
    });
    wanted.filter_map(|(_, value)| value.parse::<u64>().ok()).sum()
}

/// Waits until the metrics say all of this: what is counted is counted a moment after it is seen.
async fn says(stage: &Stage, expected: &[(&str, &[&str], u64)]) -> Result<()> {
    let is_said = || async {
        let text = stage.metrics.text();
        expected.iter().all(|(name, labels, value)| sum(&text, name, labels) == *value).then_some(())
    };
    let said = wait::until(wait::DEADLINE, "the metrics", is_said).await;
    said.map_err(|error| anyhow::anyhow!("{error}: {expected:?} in\n{}", stage.metrics.text()))
}

async fn claim_of_a_client(stage: &Stage, name: &str, pool: &str) -> Result<()> {
    let asked = (Timestamp::now() - SignedDuration::from_secs(3)).to_string();
    let claim = json!({
        "apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxClaim",
        "metadata": {"name": name, "labels": {"agents.x-k8s.io/created-by": "python-client"},
            "annotations": {CLIENT_FIRST_REQUESTED_AT: asked}},
        "spec": {"warmPoolRef": {"name": pool}},
    });
    stage.claims.create(&PostParams::default(), &serde_json::from_value(claim)?).await?;
    Ok(())
}

async fn stamped(stage: &Stage, name: &str) -> Result<()> {
    let is_stamped = |claim: &SandboxClaim| claim.annotations().contains_key(CLAIM_FIRST_READY_AT);
    wait::for_object(&stage.claims, name, "stamped", is_stamped).await?;
    Ok(())
}

#[tokio::test]
async fn every_claim_is_measured_once_whichever_way_it_goes() -> Result<()> {
    let mut stage = Stage::set().await?;
    stage.full_pool("pool", 1).await?;
    stage.pool("off", "pool", 0).await?;
    claim_of_a_client(&stage, "warm", "pool").await?;
    stage.claim("cold", "off", json!({})).await?;
    stamped(&stage, "warm").await?;
    stamped(&stage, "cold").await?;
    let launched = "agent_sandbox_claim_creation_total";
    let warm = [
        "launch_type=\"warm\"",
        "warmpool_name=\"pool\"",
        "pod_condition=\"ready\"",
        "created_by=\"python-client\"",
    ];
    let cold = [
        "launch_type=\"cold\"",
        "warmpool_name=\"off\"",
        "pod_condition=\"not_ready\"",
        "created_by=\"unknown\"",
    ];
    let (of_warm, of_cold) = (
        ["launch_type=\"warm\"", "sandbox_template=\"pool\""],
        ["launch_type=\"cold\"", "sandbox_template=\"pool\""],
    );
    says(
        &stage,
        &[
            (launched, &[], 2),
            (launched, &warm, 1),
            (launched, &cold, 1),
            (STARTUP, &of_warm, 1),
            (STARTUP, &of_cold, 1),
            ("agent_sandbox_client_claim_startup_latency_ms_count", &[], 1),
            ("agent_sandbox_client_claim_startup_latency_ms_bucket", &["le=\"2500\""], 0),
            ("agent_sandbox_claim_startup_latency_ms_count", &[], 0),
            ("agent_sandbox_creation_latency_ms_count", &[], 2),
            (STEPS, &["step=\"bound\"", "reason=\"WarmSandboxReady\""], 1),
            (STEPS, &["step=\"ready\"", "reason=\"WarmSandboxReady\""], 1),
            (STEPS, &["step=\"bound\"", "reason=\"WarmPoolSizeZero\""], 1),
            (STEPS, &["step=\"ready\"", "reason=\"WarmPoolSizeZero\""], 1),
            (STEPS, &[], 4),
        ],
    )
    .await?;
    stage.restart().await?;
    for claim in ["warm", "cold"] {
        stage.nudge(&stage.claims, claim).await?;
    }
    stage.canary("canary").await?;
    let gauge = "agent_sandboxes";
    let claimed = ["owned_by=\"SandboxClaim\"", "ready_condition=\"true\""];
    says(&stage, &[(STARTUP, &[], 0), (STEPS, &[], 0), (launched, &[], 0), (gauge, &claimed, 2)]).await?;
    stage.finish().await
}

/// One operator binds it and the next makes it Ready: each measures what it did, from what is written on the claim.
#[tokio::test]
async fn a_claim_that_changes_hands_is_measured_by_both() -> Result<()> {
    let mut stage = Stage::with(Roles::all(Role::Wait)).await?;
    stage.template("plain", json!({})).await?;
    stage.pool("off", "plain", 0).await?;
    stage.claim("mine", "off", json!({})).await?;
    let is_bound = |claim: &SandboxClaim| claim.status.as_ref().is_some_and(|it| it.sandbox.name == "mine");
    wait::for_object(&stage.claims, "mine", "bound", is_bound).await?;
    says(&stage, &[(STEPS, &["step=\"bound\""], 1), (STEPS, &["step=\"ready\""], 0)]).await?;
    stage.restart().await?;
    stage.start("mine").await?;
    stamped(&stage, "mine").await?;
    says(
        &stage,
        &[
            (STARTUP, &["launch_type=\"cold\"", "sandbox_template=\"plain\""], 1),
            (STEPS, &["step=\"bound\""], 0),
            (STEPS, &["step=\"ready\"", "launch_type=\"cold\"", "reason=\"WarmPoolSizeZero\""], 1),
            ("agent_sandbox_claim_creation_total", &[], 0),
        ],
    )
    .await?;
    stage.finish().await
}

/// The operator finds out what became of it, and tells the story as if it had been answered.
#[tokio::test]
async fn what_was_done_without_an_answer_is_measured_all_the_same() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 1).await?;
    // The transfer, the status that complains of it, and the one that says Ready.
    for write in ["PATCH sandboxes", "PATCH sandboxclaims/status", "PATCH sandboxclaims/status"] {
        stage.ledger.lose_answer(write);
    }
    stage.claim("mine", "pool", json!({})).await?;
    stamped(&stage, "mine").await?;
    let reason = ["launch_type=\"warm\"", "reason=\"WarmSandboxReady\""];
    says(
        &stage,
        &[
            ("agent_sandbox_claim_creation_total", &["launch_type=\"warm\""], 1),
            (STARTUP, &["launch_type=\"warm\""], 1),
            (STEPS, &reason, 2),
        ],
    )
    .await?;
    let launch = json!(stage.claims.get("mine").await?.status.map(|status| status.launch));
    assert_eq!(launch["reason"], "WarmSandboxReady");
    stage.finish().await
}

#[tokio::test]
async fn the_turns_of_a_sandboxs_life_are_counted() -> Result<()> {
    let stage = Stage::with(Roles { others: Role::Run, named: &[("job", Role::Succeed)] }).await?;
    for name in ["demo", "old", "job"] {
        stage.sandbox(name, json!({})).await?;
    }
    stage.ready_sandbox("demo").await?;
    stage.ready_sandbox("old").await?;
    stage.sandbox_with("job", "Ready", "PodSucceeded").await?;
    // Nobody hears of this turn until the Sandbox is looked at again.
    stage.ledger.lose_answer("PATCH sandboxes/status");
    patch(&stage.sandboxes, "demo", json!({"spec": {"operatingMode": "Suspended"}})).await?;
    stage.sandbox_with("demo", "Suspended", "PodTerminated").await?;
    patch(&stage.sandboxes, "demo", json!({"spec": {"operatingMode": "Running"}})).await?;
    stage.ready_sandbox("demo").await?;
    let past = (Timestamp::now() - SignedDuration::from_secs(1)).to_string();
    patch(&stage.sandboxes, "old", json!({"spec": {"shutdownTime": past}})).await?;
    stage.sandbox_with("old", "Ready", "SandboxExpired").await?;
    let whose = ["sandbox_template=\"unknown\"", "owned_by=\"None\""];
    says(
        &stage,
        &[
            ("agent_sandbox_suspend_total", &["result=\"requested\""], 1),
            ("agent_sandbox_suspend_total", &["result=\"pod_terminated\""], 1),
            ("agent_sandbox_suspend_latency_ms_count", &whose, 1),
            ("agent_sandbox_resume_total", &["result=\"requested\""], 1),
            ("agent_sandbox_resume_total", &["result=\"ready\""], 1),
            ("agent_sandbox_resume_latency_ms_count", &whose, 1),
            ("agent_sandbox_finished_total", &["reason=\"PodSucceeded\""], 1),
            ("agent_sandbox_expired_total", &["shutdown_policy=\"Retain\""], 1),
            ("agent_sandboxes", &["expired=\"true\"", "ready_condition=\"false\""], 1),
            ("agent_sandboxes", &["expired=\"false\"", "ready_condition=\"true\""], 1),
            ("agent_sandboxes", &[], 3),
        ],
    )
    .await?;
    stage.finish().await
}

#[tokio::test]
async fn dashboards_see_pools_queues_and_requests() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 2).await?;
    stage.pool("off", "pool", 0).await?;
    stage.pool_with("pool", 2).await?;
    let size = "agent_sandbox_warmpool_size";
    let of_pool = ["warmpool_name=\"pool\"", "sandbox_template=\"pool\"", "sandbox_status=\"ready\""];
    says(&stage, &[(size, &of_pool, 2), (size, &["warmpool_name=\"off\"", "sandbox_status=\"ready\""], 0)])
        .await?;
    let text = stage.metrics.text();
    assert!(text.contains("warmpool_name=\"off\""), "a pool without members is told of, too: {text}");
    let created = stage.ledger.count("POST sandboxes") + stage.ledger.count("POST pods");
    let created = u64::try_from(created)?;
    assert!(
        sum(&text, "rest_client_requests_total", &["code=\"201\"", "method=\"POST\""]) >= created,
        "{text}"
    );
    for controller in ["sandbox", "sandboxclaim", "sandboxtemplate", "sandboxwarmpool"] {
        let labels = [&*format!("name=\"{controller}\""), &*format!("controller=\"{controller}\"")];
        let looks = sum(&text, "controller_runtime_reconcile_total", &labels[1..]);
        assert_eq!(sum(&text, "controller_runtime_reconcile_time_seconds_count", &labels[1..]), looks);
        assert!(sum(&text, "workqueue_adds_total", &labels) >= looks, "{controller}: {text}");
        assert!(
            sum(&text, "workqueue_queue_duration_seconds_count", &labels) >= looks,
            "{controller}: {text}"
        );
    }
    stage.finish().await
}
