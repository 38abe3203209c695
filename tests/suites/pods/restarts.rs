//! What becomes of containers that end: by the Pod's policy, by the container's own, and by rules for exit codes.

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::spec::{With, sh};
use crate::stage::{Stage, exit, has_ended, last_exit, phase, restarts, waiting};

/// Counts its starts in a volume and ends as it is told.
fn counting(ending: &str) -> Value {
    let script = format!("echo x >> /v/starts; n=$(wc -l < /v/starts); echo start $n; {ending}");
    sh(&script).with(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}))
}

fn policy(policy: &str, container: Value) -> Value {
    json!({"restartPolicy": policy, "containers": [container], "volumes": [{"name": "v", "emptyDir": {}}]})
}

#[tokio::test]
async fn a_pod_restarts_its_containers_as_its_policy_says() -> Result<()> {
    let stage = Stage::set().await?;
    let until_well = "[ $n = 2 ]";
    stage.create("failure", policy("OnFailure", counting(until_well))).await?;
    stage.create("always", policy("Always", counting("exit 0"))).await?;
    stage.create("never", policy("Never", counting("exit 4"))).await?;
    let pod = stage.until("failure", "ended", has_ended).await?;
    assert_eq!((phase(&pod), restarts(&pod), last_exit(&pod)), ("Succeeded", 1, Some((1, "Error"))));
    let pod = stage.until("never", "ended", has_ended).await?;
    assert_eq!((phase(&pod), restarts(&pod), exit(&pod)), ("Failed", 0, Some((4, "Error", ""))));
    let pod = stage.until("always", "restarted", |pod: &Pod| restarts(pod) > 0).await?;
    assert_eq!((phase(&pod), last_exit(&pod)), ("Running", Some((0, "Completed"))));
    stage.until("always", "backing off", |pod: &Pod| waiting(pod) == "CrashLoopBackOff").await?;
    stage.finish().await
}

#[tokio::test]
async fn a_container_may_have_a_policy_of_its_own() -> Result<()> {
    let stage = Stage::set().await?;
    let own = json!({"restartPolicy": "Never"});
    stage.create("own", policy("Always", counting("exit 4").with(own))).await?;
    let pod = stage.until("own", "ended", |pod: &Pod| exit(pod).is_some()).await?;
    assert_eq!((restarts(&pod), exit(&pod).map(|exit| exit.0)), (0, Some(4)));
    stage.finish().await
}

#[tokio::test]
async fn rules_for_exit_codes_go_before_the_policy() -> Result<()> {
    let stage = Stage::set().await?;
    let rule = |operator: &str, values: Value| {
        json!({"restartPolicy": "Never", "restartPolicyRules": [
            {"action": "Restart", "exitCodes": {"operator": operator, "values": values}}]})
    };
    let codes = "[ $n = 1 ] && exit 42 || exit 5";
    stage.create("in", policy("Never", counting(codes).with(rule("In", json!([42]))))).await?;
    stage.create("not-in", policy("Never", counting(codes).with(rule("NotIn", json!([5, 6]))))).await?;
    for name in ["in", "not-in"] {
        let pod = stage.until(name, "ended", has_ended).await?;
        assert_eq!((restarts(&pod), last_exit(&pod)), (1, Some((42, "Error"))), "{name}");
        assert_eq!(exit(&pod).map(|exit| exit.0), Some(5), "{name}");
    }
    stage.finish().await
}
