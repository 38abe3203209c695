//! Claims: warm from a pool, or fresh from its template.

use anyhow::{Context, Result};
use asb_tests::wait;
use asb_types::annotations::{CLAIM_FIRST_READY_AT, CONTROLLER_FIRST_OBSERVED_AT, POD_NAME, SANDBOX_NAME};
use asb_types::labels::{CLAIM_UID, LAUNCH_TYPE, TEMPLATE_HASH, TEMPLATE_REF_HASH, WARM_POOL};
use asb_types::v1beta1::{Sandbox, SandboxClaim};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::json;

use crate::stage::{Stage, claim_conditions, patch, ready, sandbox_conditions};

#[tokio::test]
async fn a_claim_gets_a_warm_sandbox_with_its_pod_and_the_pool_fills_up_again() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 2).await?;
    let claim = stage.claim("mine", "pool", json!({})).await?;
    let bound = stage.ready_claim("mine").await?;
    let status = bound.status.clone().context("it is Ready")?;
    assert!(status.sandbox.name.starts_with("pool-"), "{}", status.sandbox.name);
    assert_eq!(ready(&status.conditions).map(|it| it.reason.as_str()), Some("DependenciesReady"));

    let sandbox = stage.sandboxes.get(&status.sandbox.name).await?;
    assert_eq!(status.sandbox.pod_ips, sandbox.status.clone().unwrap_or_default().pod_ips);
    let owner = &sandbox.owner_references()[0];
    assert_eq!((owner.kind.as_str(), Some(&owner.uid)), ("SandboxClaim", claim.uid().as_ref()));
    assert_eq!(sandbox.labels().get(LAUNCH_TYPE).map(String::as_str), Some("warm"));
    assert_eq!(sandbox.labels().get(CLAIM_UID), claim.uid().as_ref());
    assert!(sandbox.labels().contains_key(TEMPLATE_REF_HASH));
    assert!(!sandbox.labels().contains_key(WARM_POOL) && !sandbox.labels().contains_key(TEMPLATE_HASH));
    assert_eq!(sandbox.annotations()[POD_NAME], sandbox.name_any());

    let is_handed_over =
        |pod: &Pod| !pod.labels().contains_key(WARM_POOL) && pod.labels().contains_key(CLAIM_UID);
    wait::for_object(&stage.pods, &status.sandbox.name, "handed over", is_handed_over).await?;
    let is_stamped = |claim: &SandboxClaim| {
        let stamps = [CONTROLLER_FIRST_OBSERVED_AT, CLAIM_FIRST_READY_AT, SANDBOX_NAME];
        stamps.iter().all(|stamp| claim.annotations().contains_key(*stamp))
    };
    let stamped = wait::for_object(&stage.claims, "mine", "stamped", is_stamped).await?;
    assert_eq!(stamped.annotations()[SANDBOX_NAME], status.sandbox.name);
    stage.pool_with("pool", 2).await?;
    stage.finish().await
}

#[tokio::test]
async fn a_claim_with_variables_starts_fresh_under_its_own_name() -> Result<()> {
    let stage = Stage::set().await?;
    stage.template("template", json!({"envVarsInjectionPolicy": "Allowed"})).await?;
    stage.pool("pool", "template", 1).await?;
    stage.pool_with("pool", 1).await?;
    stage.claim("mine", "pool", json!({"env": [{"name": "KEY", "value": "value"}]})).await?;
    let claim = stage.ready_claim("mine").await?;
    assert_eq!(claim.status.context("it is Ready")?.sandbox.name, "mine");
    let sandbox = stage.sandboxes.get("mine").await?;
    assert_eq!(sandbox.labels().get(LAUNCH_TYPE).map(String::as_str), Some("cold"));
    let env = sandbox.spec.pod_template.spec.containers[0].env.clone().unwrap_or_default();
    assert_eq!((env[0].name.as_str(), env[0].value.as_deref()), ("KEY", Some("value")));
    assert_eq!(sandbox.spec.pod_template.spec.automount_service_account_token, Some(false));
    stage.finish().await
}

#[tokio::test]
async fn a_claim_says_what_it_lacks_and_goes_on_when_it_comes() -> Result<()> {
    let stage = Stage::set().await?;
    stage.claim("mine", "pool", json!({})).await?;
    let refused = stage.claim_with("mine", "WarmPoolNotFound").await?;
    assert_eq!(
        ready(claim_conditions(&refused)).map(|it| it.message.as_str()),
        Some("SandboxWarmPool \"pool\" not found")
    );
    stage.pool("pool", "template", 0).await?;
    stage.claim_with("mine", "TemplateNotFound").await?;
    stage.template("template", json!({})).await?;
    let claim = stage.ready_claim("mine").await?;
    assert_eq!(claim.status.context("it is Ready")?.sandbox.name, "mine");
    stage.finish().await
}

#[tokio::test]
async fn variables_that_the_template_forbids_are_refused_for_good() -> Result<()> {
    let stage = Stage::set().await?;
    stage.template("template", json!({})).await?;
    stage.pool("pool", "template", 0).await?;
    stage.claim("mine", "pool", json!({"env": [{"name": "KEY", "value": "value"}]})).await?;
    stage.claim_with("mine", "EnvVarsInjectionRejected").await?;
    assert!(stage.sandboxes.get_opt("mine").await?.is_none());
    stage.finish().await
}

#[tokio::test]
async fn a_sandbox_that_somebody_deletes_is_reported_and_not_replaced() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 1).await?;
    stage.claim("mine", "pool", json!({})).await?;
    let claim = stage.ready_claim("mine").await?;
    let name = claim.status.context("it is Ready")?.sandbox.name;
    stage.sandboxes.delete(&name, &DeleteParams::default()).await?;
    let lost = stage.claim_with("mine", "SandboxLost").await?;
    let status = lost.status.context("it has one")?;
    assert_eq!((status.sandbox.name.as_str(), status.sandbox.pod_ips.len()), (name.as_str(), 0));
    stage.finish().await
}

#[tokio::test]
async fn a_sandbox_that_somebody_deletes_is_replaced_where_the_claim_says_so() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 2).await?;
    stage.claim("mine", "pool", json!({"lostSandboxPolicy": "Replace"})).await?;
    let name = stage.ready_claim("mine").await?.status.context("it is Ready")?.sandbox.name;
    stage.sandboxes.delete(&name, &DeleteParams::default()).await?;
    let is_another = |claim: &SandboxClaim| {
        let is_ready = ready(claim_conditions(claim)).is_some_and(|ready| ready.status == "True");
        is_ready && claim.status.as_ref().is_some_and(|status| status.sandbox.name != name)
    };
    wait::for_object(&stage.claims, "mine", "Ready with another Sandbox", is_another).await?;
    stage.finish().await
}

#[tokio::test]
async fn metadata_of_a_claim_reaches_its_running_pod() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 1).await?;
    let asked = |team: &str| json!({"additionalPodMetadata": {"labels": {"sandbox.users.io/for": team}}});
    stage.claim("mine", "pool", asked("red")).await?;
    let name = stage.ready_claim("mine").await?.status.context("it is Ready")?.sandbox.name;
    for team in ["red", "green"] {
        patch(&stage.claims, "mine", json!({"spec": asked(team)})).await?;
        let is_labelled =
            |pod: &Pod| pod.labels().get("sandbox.users.io/for").map(String::as_str) == Some(team);
        wait::for_object(&stage.pods, &name, "labelled as asked", is_labelled).await?;
    }
    stage.finish().await
}

#[tokio::test]
async fn the_name_of_the_pod_is_there_no_later_than_ready() -> Result<()> {
    let stage = Stage::set().await?;
    stage.template("pool", json!({})).await?;
    stage.pool("pool", "pool", 3).await?;
    stage.claim("mine", "pool", json!({})).await?;
    let is_ready =
        |sandbox: &Sandbox| ready(sandbox_conditions(sandbox)).is_some_and(|ready| ready.status == "True");
    let all_named = |sandboxes: &[&Sandbox]| {
        let mut ready = sandboxes.iter().filter(|sandbox| is_ready(sandbox));
        assert!(ready.all(|sandbox| sandbox.annotations().get(POD_NAME) == sandbox.metadata.name.as_ref()));
        sandboxes.len() >= 3 && sandboxes.iter().all(|sandbox| is_ready(sandbox))
    };
    wait::for_objects(&stage.sandboxes, "", "all Ready", all_named).await?;
    let claim = stage.ready_claim("mine").await?;
    let sandbox = stage.sandboxes.get(&claim.status.context("it is Ready")?.sandbox.name).await?;
    assert_eq!(sandbox.annotations()[POD_NAME], sandbox.name_any());
    stage.finish().await
}

#[tokio::test]
async fn whoever_watches_a_claim_sees_it_ready_only_with_its_sandbox_and_addresses() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 2).await?;
    stage.pool("off", "pool", 0).await?;
    for (name, pool) in [("warm", "pool"), ("cold", "off")] {
        stage.claim(name, pool, json!({})).await?;
        let is_ready = |claim: &SandboxClaim| {
            let is_ready = ready(claim_conditions(claim)).is_some_and(|ready| ready.status == "True");
            let sandbox = claim.status.clone().unwrap_or_default().sandbox;
            assert!(!is_ready || (!sandbox.name.is_empty() && !sandbox.pod_ips.is_empty()), "{sandbox:?}");
            is_ready
        };
        let claim = wait::for_object(&stage.claims, name, "Ready", is_ready).await?;
        let name = claim.status.clone().context("it is Ready")?.sandbox.name;
        let sandbox = stage.sandboxes.get(&name).await?;
        let said = |conditions: &[Condition]| {
            ready(conditions)
                .map(|it| (it.reason.clone(), it.message.clone(), it.last_transition_time.clone()))
        };
        assert_eq!(said(claim_conditions(&claim)), said(sandbox_conditions(&sandbox)), "word for word");
    }
    stage.finish().await
}
