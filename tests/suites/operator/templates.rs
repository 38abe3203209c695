//! Templates: the network of their Pods.

use anyhow::{Context, Result};
use asb_tests::wait;
use asb_types::labels::TEMPLATE_REF_HASH;
use asb_types::v1beta1::{SandboxTemplate, SandboxWarmPool};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::stage::{Stage, claim_conditions, patch, ready, said};

#[tokio::test]
async fn a_template_has_a_network_policy_that_is_kept_as_it_should_be() -> Result<()> {
    let stage = Stage::set().await?;
    let policies: Api<NetworkPolicy> = stage.namespace.api();
    stage.template("my-template", json!({})).await?;
    let is_there = |_: &NetworkPolicy| true;
    let policy = wait::for_object(&policies, "my-template-network-policy", "made", is_there).await?;
    let spec = policy.spec.clone().context("it has a spec")?;
    insta::assert_yaml_snapshot!(spec);
    let is_labelled = |template: &SandboxTemplate| {
        template.labels().get(TEMPLATE_REF_HASH).map(String::as_str) == Some("aeae83fc")
    };
    wait::for_object(&stage.templates, "my-template", "labelled", is_labelled).await?;

    patch(&policies, "my-template-network-policy", json!({"spec": {"egress": []}})).await?;
    let is_mended = |policy: &NetworkPolicy| policy.spec.as_ref() == Some(&spec);
    wait::for_object(&policies, "my-template-network-policy", "mended", is_mended).await?;

    patch(&stage.templates, "my-template", json!({"spec": {"networkPolicyManagement": "Unmanaged"}})).await?;
    wait::for_gone(&policies, &policy).await?;
    stage.finish().await
}

#[tokio::test]
async fn a_template_gets_its_policy_once_somebody_elses_is_out_of_the_way() -> Result<()> {
    let stage = Stage::set().await?;
    let policies: Api<NetworkPolicy> = stage.namespace.api();
    let name = "my-template-network-policy";
    let foreign =
        json!({"metadata": {"name": name}, "spec": {"podSelector": {"matchLabels": {"mine": "yes"}}}});
    let foreign = policies.create(&PostParams::default(), &serde_json::from_value(foreign)?).await?;
    stage.template("my-template", json!({})).await?;
    let says = |reason: &'static str| {
        move |template: &SandboxTemplate| {
            let conditions = template.status.as_ref().map(|status| status.conditions.clone());
            ready(&conditions.unwrap_or_default()).is_some_and(|ready| ready.reason == reason)
        }
    };
    wait::for_object(&stage.templates, "my-template", "refused", says("NetworkPolicyNotOwned")).await?;
    assert_eq!(policies.get(name).await?.spec, foreign.spec, "it is left alone");

    policies.delete(name, &DeleteParams::default()).await?;
    let is_ours = |policy: &NetworkPolicy| policy.owner_references().len() == 1;
    wait::for_object(&policies, name, "made", is_ours).await?;
    wait::for_object(&stage.templates, "my-template", "served", says("NetworkPolicyReady")).await?;
    stage.finish().await
}

#[tokio::test]
async fn nothing_is_started_from_a_template_whose_policy_is_refused() -> Result<()> {
    let stage = Stage::set().await?;
    let closed = |cidr: &str| json!({"networkPolicy": {"egress": [{"to": [{"ipBlock": {"cidr": cidr}}]}]}});
    stage.template("my-template", closed("not an address")).await?;
    stage.claim("cold", "shadow-pool-my-template", json!({})).await?;
    let held_back = stage.claim_with("cold", "SandboxCreatePending").await?;
    insta::assert_yaml_snapshot!(said(claim_conditions(&held_back)));
    stage.pool("pool", "my-template", 2).await?;
    let is_held_back = |pool: &SandboxWarmPool| {
        let conditions = pool.status.as_ref().map(|status| status.conditions.clone());
        ready(&conditions.unwrap_or_default()).is_some_and(|ready| ready.reason == "TemplateNotReady")
    };
    wait::for_object(&stage.pools, "pool", "held back", is_held_back).await?;
    assert!(stage.sandboxes.list(&ListParams::default()).await?.items.is_empty());

    patch(&stage.templates, "my-template", json!({"spec": closed("192.0.2.0/24")})).await?;
    stage.pool_with("pool", 2).await?;
    stage.ready_claim("cold").await?;
    stage.finish().await
}
