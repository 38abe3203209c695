//! What concerns every Pod of the node, and so is tested without others beside it: taints, and room that is made.

use anyhow::{Context, Result, ensure};
use asb_tests::wait;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::scheduling::sort;
use crate::spec::{With, idle, once};
use crate::stage::{Stage, condition, has_ended, is_ready};
use crate::tokens::claims;

fn nodes(stage: &Stage) -> Api<Node> {
    Api::all(stage.cluster.client())
}

async fn taint(stage: &Stage, taints: Value) -> Result<()> {
    let change = Patch::Merge(json!({"spec": {"taints": taints}}));
    nodes(stage).patch("localhost", &PatchParams::default(), &change).await?;
    Ok(())
}

const KEY: &str = "asb.test/taint";

fn toleration(effect: &str, more: Value) -> Value {
    json!({"tolerations": [json!({"key": KEY, "effect": effect}).with(more)]})
}

#[tokio::test]
async fn taints_are_borne_by_those_who_say_so() -> Result<()> {
    let stage = Stage::set().await?;
    taint(&stage, json!([{"key": KEY, "value": "yes", "effect": "NoSchedule"}])).await?;
    let equal = |value: &str| json!({"operator": "Equal", "value": value});
    let fitting = [
        ("equal", toleration("NoSchedule", equal("yes"))),
        ("exists", toleration("NoSchedule", json!({"operator": "Exists"}))),
        ("effect", toleration("", equal("yes"))),
        ("all", json!({"tolerations": [{"operator": "Exists"}]})),
    ];
    let others = [
        ("plain", json!({})),
        ("unequal", toleration("NoSchedule", equal("no"))),
        ("other-effect", toleration("NoExecute", equal("yes"))),
        ("other-key", json!({"tolerations": [{"key": "asb.test/other", "operator": "Exists"}]})),
    ];
    let sorted = sort(&stage, &fitting, &others).await;
    taint(&stage, json!(null)).await?;
    sorted?;
    stage.until("plain", "ended", has_ended).await?;
    stage.finish().await
}

/// It would rather not, but there is no other node.
#[tokio::test]
async fn a_taint_may_only_be_a_wish() -> Result<()> {
    let stage = Stage::set().await?;
    taint(&stage, json!([{"key": KEY, "effect": "PreferNoSchedule"}])).await?;
    let bears = toleration("PreferNoSchedule", json!({"operator": "Exists"}));
    let sorted = sort(&stage, &[("plain", json!({})), ("bears", bears)], &[]).await;
    taint(&stage, json!(null)).await?;
    sorted?;
    stage.finish().await
}

/// Who does not bear it leaves at once, who bears it for a while leaves after that, and who bears it stays.
#[tokio::test]
async fn who_does_not_bear_a_taint_is_sent_away() -> Result<()> {
    let stage = Stage::set().await?;
    let exists = json!({"operator": "Exists"});
    let patient = toleration("NoExecute", exists.clone().with(json!({"tolerationSeconds": 3})));
    let spec = |more: Value| once(idle()).with(json!({"terminationGracePeriodSeconds": 1})).with(more);
    let plain = stage.start("plain", spec(json!({}))).await?;
    let patient = stage.start("patient", spec(patient)).await?;
    stage.start("bears", spec(toleration("NoExecute", exists))).await?;
    taint(&stage, json!([{"key": KEY, "effect": "NoExecute"}])).await?;
    let sent_away = leave(&stage, &plain, &patient).await;
    taint(&stage, json!(null)).await?;
    sent_away?;
    assert!(is_ready(&stage.pods().get("bears").await?));
    stage.finish().await
}

/// One leaves at once and the other within three seconds, and not before.
async fn leave(stage: &Stage, plain: &Pod, patient: &Pod) -> Result<()> {
    let begun = std::time::Instant::now();
    let is_leaving = |pod: &Pod| pod.metadata.deletion_timestamp.is_some();
    let leaving = stage.until("plain", "leaving", is_leaving).await?;
    let why = condition(&leaving, "DisruptionTarget");
    ensure!(why == Some(("True", "DeletionByTaintManager")), "{why:?}");
    wait::for_gone(&stage.pods(), plain).await?;
    stage.until("patient", "leaving", is_leaving).await?;
    // The node counts from when it saw the taint, and the API server's clock from when it was set.
    let waited = begun.elapsed().as_secs_f32();
    ensure!(waited > 2.5, "it left after {waited} s");
    Ok(wait::for_gone(&stage.pods(), patient).await?)
}

/// More than half of the node's memory, so that two of them do not fit beside each other.
async fn most(stage: &Stage) -> Result<Value> {
    let node = nodes(stage).get("localhost").await?;
    let memory =
        node.status.and_then(|status| status.allocatable?.get("memory").cloned()).context("memory")?;
    let kibibytes: u64 = memory.0.trim_end_matches("Ki").parse().context("a number of Ki")?;
    let most = json!({"resources": {"requests": {"memory": format!("{}Ki", kibibytes / 10 * 6)}}});
    Ok(once(idle().with(most)).with(json!({"terminationGracePeriodSeconds": 1})))
}

fn is_unschedulable(pod: &Pod) -> bool {
    condition(pod, "PodScheduled") == Some(("False", "Unschedulable"))
}

#[tokio::test]
async fn who_matters_more_makes_others_leave() -> Result<()> {
    let stage = Stage::set().await?;
    let spec = most(&stage).await?;
    let low = stage.start("low", spec.clone()).await?;
    stage.create("equal", spec.clone()).await?;
    stage.until("equal", "Pending", is_unschedulable).await?;
    let class = json!({"priorityClassName": "system-cluster-critical"});
    let urgent = stage.create("urgent", spec.with(class)).await?;
    assert_eq!(urgent.spec.as_ref().and_then(|spec| spec.priority), Some(2_000_000_000));
    wait::for_gone(&stage.pods(), &low).await?;
    stage.until("urgent", "ready", is_ready).await?;
    stage.finish().await
}

/// A class of the test's own, of more priority than Pods have without any.
async fn class(stage: &Stage, name: &str, policy: &str) -> Result<()> {
    let class = json!({"metadata": {"name": name}, "value": 1000, "preemptionPolicy": policy});
    let classes: Api<PriorityClass> = Api::all(stage.cluster.client());
    classes.create(&PostParams::default(), &serde_json::from_value(class)?).await?;
    Ok(())
}

/// It goes before others in the queue, but waits until somebody leaves by itself.
#[tokio::test]
async fn who_matters_more_may_leave_others_in_peace() -> Result<()> {
    let stage = Stage::set().await?;
    let name = format!("patient-{}", stage.namespace.name());
    class(&stage, &name, "Never").await?;
    let spec = most(&stage).await?;
    stage.start("low", spec.clone()).await?;
    let patient = spec.clone().with(json!({"priorityClassName": name, "preemptionPolicy": "Never"}));
    let patient = stage.create("patient", patient).await?.spec.unwrap_or_default();
    assert_eq!((patient.priority, patient.preemption_policy.as_deref()), (Some(1000), Some("Never")));
    stage.create("equal", spec).await?;
    for name in ["patient", "equal"] {
        stage.until(name, "Pending", is_unschedulable).await?;
    }
    let told = stage.event("patient", "FailedScheduling").await?;
    assert!(told.contains("not eligible due to preemptionPolicy=Never"), "{told}");
    assert!(is_ready(&stage.pods().get("low").await?));
    stage.pods().delete("low", &DeleteParams::default()).await?;
    stage.until("patient", "ready", is_ready).await?;
    assert!(is_unschedulable(&stage.pods().get("equal").await?));
    Api::<PriorityClass>::all(stage.cluster.client()).delete(&name, &DeleteParams::default()).await?;
    stage.finish().await
}

/// The node was told to replace tokens soon (`--renew-tokens-after`), which otherwise it does after minutes.
#[tokio::test]
async fn a_token_is_replaced_while_its_pod_runs() -> Result<()> {
    let stage = Stage::set().await?;
    let source = json!({"serviceAccountToken": {"path": "token", "expirationSeconds": 600}});
    let container = idle().with(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}));
    let volumes = json!({"volumes": [{"name": "v", "projected": {"sources": [source]}}]});
    stage.start("holder", once(container).with(volumes)).await?;
    let first = stage.exec("holder", "cat /v/token").await?;
    let other = format!("[ \"$(cat /v/token)\" = {first} ] || echo another");
    stage.exec_until("holder", &other, "another").await?;
    let (before, after) = (claims(&first)?, claims(&stage.exec("holder", "cat /v/token").await?)?);
    assert_eq!((&before["sub"], &before["kubernetes.io"]), (&after["sub"], &after["kubernetes.io"]));
    assert!(before["exp"].as_i64() < after["exp"].as_i64(), "{before} {after}");
    stage.finish().await
}
