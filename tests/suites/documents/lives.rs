//! An object in a short spelling and the one it stands for: edits, deletions, and who is in the way.

use anyhow::{Context, Result};
use asb_tests::wait;
use asb_types::shorthand;
use asb_types::v1beta1::{Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool};
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};

use crate::stage::{Stage, ready};

fn template(image: &str) -> Value {
    let container = json!({"name": "main", "image": image, "ports": [{"containerPort": 8080}]});
    json!({"template": {"metadata": {"labels": {"team": "blue"}}, "spec": {"containers": [container]}}})
}

async fn set() -> Result<Stage> {
    let stage = Stage::set().await?;
    stage.create::<shorthand::SandboxTemplate>("python", template("demo:1")).await?;
    stage.ready::<shorthand::SandboxTemplate>("python").await?;
    Ok(stage)
}

#[tokio::test]
async fn variables_of_a_claim_reach_the_sandbox_and_labels_the_other_claim() -> Result<()> {
    let stage = set().await?;
    let spec = json!({"sandboxTemplate": "python", "env": [{"name": "TASK", "value": "seven"}]});
    stage.create::<shorthand::SandboxClaim>("mine", spec).await?;
    stage.patch::<shorthand::SandboxClaim>("mine", json!({"metadata": {"labels": {"task": "7"}}})).await?;
    stage.ready::<shorthand::SandboxClaim>("mine").await?;
    let sandbox: Sandbox = stage.ready("mine").await?;
    let env = sandbox.spec.pod_template.spec.containers[0].env.clone().unwrap_or_default();
    assert_eq!((env[0].name.as_str(), env[0].value.as_deref()), ("TASK", Some("seven")));
    let is_labelled = |claim: &SandboxClaim| claim.labels().get("task").is_some_and(|it| it == "7");
    wait::for_object(&stage.api(), "mine", "labelled", is_labelled).await?;
    stage.patch::<shorthand::SandboxClaim>("mine", json!({"metadata": {"labels": {"task": null}}})).await?;
    let is_plain = |claim: &SandboxClaim| !claim.labels().contains_key("task");
    wait::for_object(&stage.api(), "mine", "without the label", is_plain).await?;
    stage.finish().await
}

#[tokio::test]
async fn an_edit_is_followed_and_an_edit_of_the_other_is_put_back_and_told() -> Result<()> {
    let stage = set().await?;
    let image = |wanted: &'static str| {
        move |it: &SandboxTemplate| it.spec.pod_template.spec.containers[0].image.as_deref() == Some(wanted)
    };
    stage.patch::<shorthand::SandboxTemplate>("python", json!({"spec": template("demo:2")})).await?;
    wait::for_object(&stage.api(), "python", "edited", image("demo:2")).await?;
    stage.ready::<shorthand::SandboxTemplate>("python").await?;
    let is_current = |it: &shorthand::SandboxTemplate| ready(it)["observedGeneration"] == 2;
    wait::for_object(&stage.api(), "python", "Ready for its second generation", is_current).await?;
    let meddled =
        json!({"spec": {"podTemplate": {"spec": {"containers": [{"name": "main", "image": "other"}]}}}});
    stage.patch::<SandboxTemplate>("python", meddled).await?;
    wait::for_object(&stage.api(), "python", "put back", image("demo:2")).await?;
    let told = |events: &[&Event]| events.iter().any(|it| it.reason.as_deref() == Some("ChangeUndone"));
    wait::for_objects(&stage.api(), "", "told", told).await?;
    stage.finish().await
}

/// Both definitions fill in the same defaults, so that there is nothing to correct in what is as it should be.
#[tokio::test]
async fn what_is_settled_is_written_no_more() -> Result<()> {
    let stage = set().await?;
    let of_the_other = stage.ready::<SandboxTemplate>("python").await?.metadata.generation;
    let before = stage.ledger.about("python");
    let nudge = json!({"metadata": {"annotations": {"agents.x-k8s.io/nudged": "now"}}});
    stage.patch::<shorthand::SandboxTemplate>("python", nudge).await?;
    stage.create::<shorthand::SandboxClaim>("canary", json!({"template": "python"})).await?;
    stage.ready::<shorthand::SandboxClaim>("canary").await?;
    assert_eq!((stage.ledger.about("python"), of_the_other), (before, Some(1)));
    assert_eq!(stage.ledger.count("POST sandboxtemplates"), 1);
    stage.finish().await
}

#[tokio::test]
async fn deleting_either_deletes_both_and_the_sandbox() -> Result<()> {
    let stage = set().await?;
    for (name, how) in [("short", DeleteParams::foreground()), ("other", DeleteParams::background())] {
        stage.create::<shorthand::SandboxClaim>(name, json!({"template": "python"})).await?;
        let short: shorthand::SandboxClaim = stage.ready(name).await?;
        let other = stage.api::<SandboxClaim>().get(name).await?;
        let sandbox = stage.api::<Sandbox>().get(name).await?;
        if name == "short" {
            stage.api::<shorthand::SandboxClaim>().delete(name, &how).await?;
        } else {
            stage.api::<SandboxClaim>().delete(name, &how).await?;
        }
        wait::for_gone(&stage.api(), &sandbox).await?;
        wait::for_gone(&stage.api(), &other).await?;
        wait::for_gone(&stage.api(), &short).await?;
    }
    let left = stage.api::<SandboxClaim>().list(&ListParams::default()).await?;
    assert_eq!(left.items.len(), 0, "it came back");
    stage.finish().await
}

#[tokio::test]
async fn a_claim_that_expires_and_is_to_be_deleted_goes_in_both_spellings() -> Result<()> {
    let stage = set().await?;
    let lifecycle = json!({"shutdownTime": "2020-01-01T00:00:00Z", "shutdownPolicy": "Delete"});
    let short: shorthand::SandboxClaim =
        stage.create("brief", json!({"template": "python", "lifecycle": lifecycle})).await?;
    wait::for_gone(&stage.api(), &short).await?;
    assert!(stage.api::<SandboxClaim>().get_opt("brief").await?.is_none());
    stage.finish().await
}

#[tokio::test]
async fn an_object_that_was_there_before_is_left_alone_until_it_is_gone() -> Result<()> {
    let stage = set().await?;
    let pool = json!({"replicas": 0, "sandboxTemplateRef": {"name": "python"}});
    let foreign: SandboxWarmPool = stage.create("pool", pool).await?;
    stage.create::<shorthand::SandboxWarmPool>("pool", json!({"size": 1, "template": "python"})).await?;
    let message = stage.refused::<shorthand::SandboxWarmPool>("pool", "NameTaken").await?;
    assert!(
        message.starts_with("SandboxWarmPool.extensions.agents.x-k8s.io \"pool\" is there already"),
        "{message}"
    );
    let untouched = stage.api::<SandboxWarmPool>().get("pool").await?;
    assert_eq!(untouched.uid(), foreign.uid());
    assert_eq!(untouched.spec.replicas, 0);
    stage.api::<SandboxWarmPool>().delete("pool", &DeleteParams::default()).await?;
    stage.ready::<shorthand::SandboxWarmPool>("pool").await?;
    assert_eq!(stage.api::<SandboxWarmPool>().get("pool").await?.spec.replicas, 1);
    stage.finish().await
}

#[tokio::test]
async fn a_pool_that_brings_a_template_can_name_one_instead() -> Result<()> {
    let stage = set().await?;
    let inline = template("demo:1")["template"].clone();
    stage.create::<shorthand::SandboxWarmPool>("pool", json!({"size": 1, "template": inline})).await?;
    stage.ready::<shorthand::SandboxWarmPool>("pool").await?;
    let own = stage.api::<SandboxTemplate>().get("pool").await?;
    stage.patch::<shorthand::SandboxWarmPool>("pool", json!({"spec": {"template": "python"}})).await?;
    wait::for_gone(&stage.api(), &own).await?;
    let pool = stage.api::<SandboxWarmPool>().get("pool").await?;
    assert_eq!(pool.spec.sandbox_template_ref.name, "python");
    stage.finish().await
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_by_the_server_or_with_a_reason() -> Result<()> {
    let stage = set().await?;
    let both = json!({"template": "python", "sandboxTemplate": "python"});
    let refused = stage.create::<shorthand::SandboxClaim>("both", both).await.expect_err("one of them");
    assert!(format!("{refused:#}").contains("one of sandboxTemplate and template"), "{refused:#}");
    let mixed =
        json!({"podTemplate": {"spec": {"containers": [{"name": "main"}]}}, "runtimeClassName": "gvisor"});
    stage.create::<shorthand::SandboxWarmPool>("mixed", json!({"template": {"spec": mixed}})).await?;
    let reason = stage.refused::<shorthand::SandboxWarmPool>("mixed", "InvalidConfiguration").await?;
    assert_eq!(reason, "template.spec has a podTemplate; runtimeClassName belongs in podTemplate.spec");
    let unknown = json!({"apiVersion": "agents.x-k8s.io/v1alpha1", "kind": "SandboxWarmPool", "metadata": {"name": "typo"},
        "spec": {"template": {"spec": {"containers": [{"name": "main", "imag": "demo"}]}}}});
    let refused = stage.kubectl(&["apply", "-f", "-"], Some(&unknown.to_string())).await.expect_err("a typo");
    assert!(format!("{refused:#}").contains("imag"), "{refused:#}");
    stage.finish().await
}

#[tokio::test]
async fn a_pool_scales_under_its_short_spelling() -> Result<()> {
    let stage = set().await?;
    stage.create::<shorthand::SandboxWarmPool>("pool", json!({"size": 0, "template": "python"})).await?;
    stage.kubectl(&["scale", "sandboxwarmpools.agents.x-k8s.io/pool", "--replicas", "2"], None).await?;
    let is_full = |it: &SandboxWarmPool| it.status.as_ref().is_some_and(|status| status.ready_replicas == 2);
    wait::for_object(&stage.api(), "pool", "two are Ready", is_full).await?;
    let columns =
        stage.kubectl(&["get", "sandboxwarmpools.agents.x-k8s.io", "pool", "--no-headers"], None).await?;
    let columns: Vec<_> = columns.split_whitespace().take(3).collect();
    assert_eq!(columns.first().context("a line")?, &"pool");
    stage.finish().await
}
