//! Where and how volumes are mounted.

use anyhow::Result;
use serde_json::{Value, json};

use crate::spec::{With, once, sh};
use crate::stage::{Stage, waiting};

fn mounted(script: &str, mounts: Value) -> Value {
    let env = json!([{"name": "WHO", "value": "ann"}]);
    let init = sh("mkdir -p /v/part /v/users; echo inner > /v/part/word; ln -s / /v/out");
    let init = init.with(json!({"name": "first", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}));
    let container = sh(script).with(json!({"env": env, "volumeMounts": mounts}));
    once(container).with(json!({"initContainers": [init], "volumes": [{"name": "v", "emptyDir": {}}]}))
}

#[tokio::test]
async fn parts_of_volumes_are_mounted_where_asked_for() -> Result<()> {
    let stage = Stage::set().await?;
    let mounts = json!([
        {"name": "v", "mountPath": "/whole", "mountPropagation": "None"},
        {"name": "v", "mountPath": "/whole/deep/part", "subPath": "part"},
        {"name": "v", "mountPath": "/own", "subPathExpr": "users/$(WHO)"},
        {"name": "v", "mountPath": "/file", "subPath": "part/word"},
    ]);
    let script = "cat /whole/deep/part/word /file; touch /own/hers; ls /whole/users/ann";
    assert_eq!(stage.run("parts", mounted(script, mounts)).await?, "inner\ninner\nhers");
    stage.finish().await
}

#[tokio::test]
async fn a_mount_can_be_read_only() -> Result<()> {
    let stage = Stage::set().await?;
    let mounts = json!([
        {"name": "v", "mountPath": "/r", "readOnly": true},
        {"name": "v", "mountPath": "/rr", "readOnly": true, "recursiveReadOnly": "Enabled"},
        {"name": "v", "mountPath": "/rp", "readOnly": true, "recursiveReadOnly": "IfPossible"},
        {"name": "v", "mountPath": "/w", "readOnly": false, "recursiveReadOnly": "Disabled"},
    ]);
    let script = "for at in r rr rp w; do touch /$at/x 2>/dev/null && echo wrote $at; done; true";
    assert_eq!(stage.run("read-only", mounted(script, mounts)).await?, "wrote w");
    stage.finish().await
}

/// A link in the volume that leads out of it is not followed.
#[tokio::test]
async fn parts_never_lie_outside_of_the_volume() -> Result<()> {
    let stage = Stage::set().await?;
    let mounts = json!([{"name": "v", "mountPath": "/stolen", "subPath": "out/etc"}]);
    stage.create("thief", mounted("ls /stolen", mounts)).await?;
    let is_refused = |reason: &str| matches!(reason, "CreateContainerError" | "CreateContainerConfigError");
    stage.until("thief", "refused", |pod| is_refused(waiting(pod))).await?;
    stage.finish().await
}
