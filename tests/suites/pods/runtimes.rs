//! RuntimeClasses, and programs that are not there.

use anyhow::Result;
use k8s_openapi::api::node::v1::RuntimeClass;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

use crate::spec::{With, idle, once};
use crate::stage::{Stage, condition};

/// Makes a class of the test's own.
async fn class(stage: &Stage, more: serde_json::Value) -> Result<(Api<RuntimeClass>, String)> {
    let name = format!("absent-{}", stage.namespace.name());
    let class = json!({"metadata": {"name": name}, "handler": "no-such-handler"}).with(more);
    let classes: Api<RuntimeClass> = Api::all(stage.cluster.client());
    classes.create(&PostParams::default(), &serde_json::from_value(class)?).await?;
    Ok((classes, name))
}

#[tokio::test]
async fn a_runtime_that_is_not_there_is_named() -> Result<()> {
    let stage = Stage::set().await?;
    let (classes, name) = class(&stage, json!({})).await?;
    stage.create("pod", once(idle()).with(json!({"runtimeClassName": name}))).await?;
    let told = stage.event("pod", "FailedCreatePodSandBox").await;
    classes.delete(&name, &DeleteParams::default()).await?;
    assert!(told?.contains("no runtime for \"no-such-handler\" is configured"));
    stage.finish().await
}

/// More than any machine has.
#[tokio::test]
async fn what_a_runtime_takes_is_added() -> Result<()> {
    let stage = Stage::set().await?;
    let (classes, name) = class(&stage, json!({"overhead": {"podFixed": {"cpu": "4096"}}})).await?;
    let pod = stage.create("heavy", once(idle()).with(json!({"runtimeClassName": name}))).await;
    let told = stage.event("heavy", "FailedScheduling").await;
    classes.delete(&name, &DeleteParams::default()).await?;
    let overhead = pod?.spec.and_then(|spec| spec.overhead).unwrap_or_default();
    assert_eq!(overhead.get("cpu").map(|cpu| cpu.0.as_str()), Some("4096"));
    assert!(told?.contains("Insufficient cpu"));
    let pod = stage.pods().get("heavy").await?;
    assert_eq!(condition(&pod, "PodScheduled"), Some(("False", "Unschedulable")));
    stage.finish().await
}
