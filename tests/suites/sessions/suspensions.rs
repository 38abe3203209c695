//! `asb suspend` and `asb resume` where the container has a kernel of its own: gVisor's.

use anyhow::Result;
use asb_tests::wait;
use asb_types::v1beta1::Sandbox;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, PostParams};
use serde_json::json;

use crate::stage::{BUSYBOX, PATIENCE, Stage};

const IDLE: &str = "trap 'exit 0' TERM; while :; do sleep 0.2; done";

/// A Sandbox under gVisor with a volume that outlives its Pods.
async fn guarded(stage: &Stage) -> Result<()> {
    let container = json!({
        "name": "main", "image": BUSYBOX, "command": ["sh", "-c", IDLE],
        "volumeMounts": [{"name": "work", "mountPath": "/disk"}],
    });
    let claim = json!({
        "metadata": {"name": "work"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
    });
    let template = json!({"spec": {"runtimeClassName": "gvisor", "containers": [container]}});
    let spec = json!({"podTemplate": template, "volumeClaimTemplates": [claim]});
    let sandbox = json!({"metadata": {"name": "guarded"}, "spec": spec});
    let sandboxes = stage.namespace.api::<Sandbox>();
    sandboxes.create(&PostParams::default(), &serde_json::from_value(sandbox)?).await?;
    let runs = || async { stage.answer(&["exec", "guarded", "--", "true"]).await.ok() };
    wait::until(PATIENCE, "a Sandbox under gVisor", runs).await?;
    Ok(())
}

async fn kernel(stage: &Stage) -> Result<String> {
    stage.answer(&["exec", "guarded", "--", "dmesg"]).await
}

#[tokio::test]
async fn a_guarded_sandbox_is_suspended_and_resumed() -> Result<()> {
    let stage = Stage::set().await?;
    guarded(&stage).await?;
    stage.answer(&["exec", "guarded", "--", "sh", "-c", "echo kept > /disk/word; echo lost > /word"]).await?;
    assert!(kernel(&stage).await?.contains("Starting gVisor"));
    assert_eq!(stage.answer(&["suspend", "guarded"]).await?, "sandbox/guarded suspended\n");
    let pods = stage.namespace.api::<Pod>().list(&ListParams::default()).await?;
    assert_eq!(pods.items.len(), 0, "nothing runs");
    assert_eq!(stage.answer(&["resume", "guarded"]).await?, "sandbox/guarded resumed\n");
    let said = stage
        .answer(&["exec", "guarded", "--", "sh", "-c", "cat /disk/word; test -e /word || echo clean"])
        .await?;
    assert_eq!(said, "kept\nclean\n");
    assert!(kernel(&stage).await?.contains("Starting gVisor"));
    assert!(stage.answer(&["logs", "guarded"]).await.is_ok());
    stage.finish().await
}
