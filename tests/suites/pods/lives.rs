//! How Pods begin and end: init containers, sidecars, deadlines, grace, and conditions that others set.

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::spec::{With, idle, once, sh};
use crate::stage::{Stage, condition, exit, has_ended, is_ready, phase, status};

fn named(container: Value, name: &str) -> Value {
    container.with(json!({"name": name, "volumeMounts": [{"name": "v", "mountPath": "/v"}]}))
}

#[tokio::test]
async fn init_containers_run_in_order_and_sidecars_go_on() -> Result<()> {
    let stage = Stage::set().await?;
    let sidecar =
        sh("trap 'echo sidecar >> /v/end; exit 0' TERM; touch /v/sidecar; while :; do sleep 0.05; done");
    let probe = json!({"exec": {"command": ["test", "-e", "/v/sidecar"]}, "periodSeconds": 1});
    let sidecar = named(sidecar, "side").with(json!({"restartPolicy": "Always", "startupProbe": probe}));
    let spec = json!({
        "restartPolicy": "Never",
        "volumes": [{"name": "v", "emptyDir": {}}],
        "initContainers": [
            named(sh("echo one >> /v/log"), "one"), sidecar, named(sh("test -e /v/sidecar; echo two >> /v/log"), "two"),
        ],
        "containers": [named(sh("cat /v/log; echo main >> /v/log"), "main")],
    });
    assert_eq!(stage.run("order", spec).await?, "one\ntwo");
    let pod = stage.until("order", "ended", has_ended).await?;
    assert_eq!(condition(&pod, "Initialized").map(|it| it.0), Some("True"));
    let side = status(&pod, "side").and_then(|status| status.state.clone()?.terminated);
    assert_eq!(side.map(|ended| ended.exit_code), Some(0), "the sidecar ends after the others");
    stage.finish().await
}

#[tokio::test]
async fn a_failed_init_container_fails_a_pod_that_is_tried_once() -> Result<()> {
    let stage = Stage::set().await?;
    let init = sh("exit 9").with(json!({"name": "first"}));
    stage.create("first", once(sh("true")).with(json!({"initContainers": [init]}))).await?;
    let pod = stage.until("first", "ended", has_ended).await?;
    assert_eq!((phase(&pod), exit(&pod)), ("Failed", None));
    stage.finish().await
}

#[tokio::test]
async fn a_pod_past_its_deadline_fails() -> Result<()> {
    let stage = Stage::set().await?;
    stage
        .create(
            "late",
            once(idle()).with(json!({"activeDeadlineSeconds": 2, "terminationGracePeriodSeconds": 1})),
        )
        .await?;
    let pod = stage.until("late", "ended", has_ended).await?;
    let reason = pod.status.as_ref().and_then(|status| status.reason.as_deref());
    assert_eq!((phase(&pod), reason), ("Failed", Some("DeadlineExceeded")));
    stage.finish().await
}

/// One that does not listen is killed after its grace, and not before.
#[tokio::test]
async fn a_deleted_pod_has_its_grace() -> Result<()> {
    let stage = Stage::set().await?;
    let deaf = sh("trap '' TERM; echo up; while :; do sleep 0.1; done");
    let mut gone = Vec::new();
    for (name, grace) in [("short", 1), ("long", 3)] {
        let spec = once(deaf.clone()).with(json!({"terminationGracePeriodSeconds": grace}));
        stage.start(name, spec).await?;
        let begun = std::time::Instant::now();
        let deleted = stage.pods().delete(name, &DeleteParams::default()).await?;
        let pod = deleted.left().expect("it takes its time");
        asb_tests::wait::for_gone(&stage.pods(), &pod).await?;
        gone.push(begun.elapsed().as_secs_f32());
    }
    assert!(gone[0] >= 0.9 && gone[0] < 20.0 && gone[1] >= 2.9, "{gone:?}");
    stage.finish().await
}

#[tokio::test]
async fn ready_waits_for_the_gates() -> Result<()> {
    let stage = Stage::set().await?;
    let gates = json!({"readinessGates": [{"conditionType": "example.com/open"}]});
    stage.create("gated", once(idle()).with(gates)).await?;
    let is_up = |pod: &Pod| condition(pod, "ContainersReady").is_some_and(|it| it.0 == "True");
    let pod = stage.until("gated", "up", is_up).await?;
    assert_eq!(condition(&pod, "Ready"), Some(("False", "ReadinessGatesNotReady")));
    let open = json!({"status": {"conditions": [{"type": "example.com/open", "status": "True"}]}});
    stage.pods().patch_status("gated", &PatchParams::default(), &Patch::Strategic(open)).await?;
    stage.until("gated", "ready", is_ready).await?;
    stage.finish().await
}

#[tokio::test]
async fn processes_are_shared_where_asked_for() -> Result<()> {
    let stage = Stage::set().await?;
    let script = "cat /proc/1/comm; ls /proc | grep -c '^[0-9]'";
    let alone = stage.run("alone", once(sh(script))).await?;
    assert!(alone.starts_with("sh\n"), "{alone}");
    let other = idle().with(json!({"name": "other", "env": [{"name": "MARK", "value": "other-one"}]}));
    let look = "until grep -aq MARK=other-one /proc/[0-9]*/environ; do sleep 0.05; done; cat /proc/1/comm";
    let mut spec = once(sh(look)).with(json!({"shareProcessNamespace": true}));
    spec["containers"].as_array_mut().expect("a list").push(other);
    stage.create("shared", spec).await?;
    let ended = |pod: &Pod| exit(pod).is_some();
    let pod = stage.until("shared", "ended", ended).await?;
    assert_eq!(exit(&pod).map(|exit| exit.0), Some(0));
    assert_ne!(stage.logs("shared", "main").await?, "sh", "its own shell is not the first process");
    stage.finish().await
}

#[tokio::test]
async fn a_pod_of_another_system_does_not_run() -> Result<()> {
    let stage = Stage::set().await?;
    let of = |system: &str| once(sh("uname -s")).with(json!({"os": {"name": system}}));
    assert_eq!(stage.run("linux", of("linux")).await?, "Linux");
    stage.create("windows", of("windows")).await?;
    let pod = stage.until("windows", "refused", has_ended).await?;
    let message = pod.status.clone().and_then(|status| status.message).unwrap_or_default();
    assert!(phase(&pod) == "Failed" && message.contains("spec.os.name: "), "{message}");
    stage.finish().await
}
