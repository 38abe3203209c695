//! An operator that is told only of children with a label: what is in a Sandbox's way is found by running into it.

use anyhow::{Context, Result};
use asb_operator::{ChildScope, Settings};
use asb_types::labels::{ADOPTABLE, ADOPTABLE_TRUE};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};

use crate::roles::{Role, Roles, pod_template};
use crate::stage::{Stage, patch, ready, sandbox_conditions};

async fn short_sighted() -> Result<Stage> {
    let settings = Settings { children: ChildScope::Labelled, ..Settings::default() };
    Stage::with_settings(Roles::all(Role::Run), settings).await
}

async fn foreign_pod(stage: &Stage, labels: Value) -> Result<Pod> {
    let pod = json!({"metadata": {"name": "demo", "labels": labels}, "spec": pod_template()["spec"]});
    Ok(stage.pods.create(&PostParams::default(), &serde_json::from_value(pod)?).await?)
}

#[tokio::test]
async fn what_is_in_the_way_is_tried_later_each_time_until_it_is_gone() -> Result<()> {
    let stage = short_sighted().await?;
    foreign_pod(&stage, json!({})).await?;
    stage.canary("before").await?;
    stage.sandbox("demo", json!({})).await?;
    let refused = stage.sandbox_with("demo", "Ready", "ReconcilerError").await?;
    let message = &ready(sandbox_conditions(&refused)).context("just seen")?.message;
    assert!(message.contains("cannot adopt unowned pod"), "{message}");
    stage.canary("meanwhile").await?;
    let tries = stage.ledger.about("demo").iter().filter(|write| *write == "POST pods").count();
    assert!(tries <= 16, "{tries} tries");

    stage.pods.delete("demo", &DeleteParams::default()).await?;
    stage.ready_sandbox("demo").await?;
    stage.finish().await
}

#[tokio::test]
async fn a_pod_that_may_be_adopted_is() -> Result<()> {
    let stage = short_sighted().await?;
    let pod = foreign_pod(&stage, json!({ADOPTABLE: ADOPTABLE_TRUE})).await?;
    stage.canary("before").await?;
    stage.sandbox("demo", json!({})).await?;
    stage.ready_sandbox("demo").await?;
    assert_eq!(stage.pods.get("demo").await?.uid(), pod.uid());
    stage.finish().await
}

#[tokio::test]
async fn a_pod_whose_label_somebody_takes_away_gets_it_back() -> Result<()> {
    let stage = short_sighted().await?;
    stage.sandbox("demo", json!({})).await?;
    stage.ready_sandbox("demo").await?;
    let pod = stage.pods.get("demo").await?;
    let label = asb_types::labels::SANDBOX_NAME_HASH;
    patch(&stage.pods, "demo", json!({"metadata": {"labels": {label: null}}})).await?;
    let is_back = |pod: &Pod| pod.labels().contains_key(label);
    let mended = asb_tests::wait::for_object(&stage.pods, "demo", "labelled", is_back).await?;
    assert_eq!(mended.uid(), pod.uid());
    stage.ready_sandbox("demo").await?;
    stage.finish().await
}
