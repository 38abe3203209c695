//! As whom containers run, and whose their volumes are.

use anyhow::Result;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use serde_json::{Value, json};

use crate::spec::{With, once, sh};
use crate::stage::{Stage, status, waiting};

fn context(context: Value) -> Value {
    json!({"securityContext": context})
}

const WHO: &str = "echo $(id -u) $(id -g) $(id -G)";

#[tokio::test]
async fn users_and_groups_are_the_containers_before_the_pods() -> Result<()> {
    let stage = Stage::set().await?;
    let pod = context(json!({"runAsUser": 1000, "runAsGroup": 2000, "supplementalGroups": [3000]}));
    assert_eq!(stage.run("pod", once(sh(WHO)).with(pod.clone())).await?, "1000 2000 2000 3000");
    let own = sh(WHO).with(context(json!({"runAsUser": 1001, "runAsGroup": 2001})));
    assert_eq!(stage.run("own", once(own).with(pod)).await?, "1001 2001 2001 3000");
    let strict = json!({"runAsUser": 1000, "supplementalGroups": [7], "supplementalGroupsPolicy": "Strict"});
    let said = stage.run("strict", once(sh(WHO)).with(context(strict))).await?;
    assert!(said.ends_with(" 7"), "{said}");
    let pod = stage.until("own", "ended", crate::stage::has_ended).await?;
    let user = status(&pod, "main").and_then(|status| status.user.clone()?.linux);
    assert_eq!(user.map(|user| (user.uid, user.gid)), Some((1001, 2001)));
    stage.finish().await
}

#[tokio::test]
async fn who_must_not_be_root_is_not_started_as_root() -> Result<()> {
    let stage = Stage::set().await?;
    let non_root = context(json!({"runAsNonRoot": true}));
    stage.create("pod", once(sh(WHO)).with(non_root.clone())).await?;
    stage.create("own", once(sh(WHO).with(non_root))).await?;
    for name in ["pod", "own"] {
        stage.until(name, "refused", |pod| waiting(pod) == "CreateContainerConfigError").await?;
        assert!(stage.event(name, "Failed").await?.contains("runAsNonRoot"), "{name}");
    }
    let other = context(json!({"runAsNonRoot": true, "runAsUser": 65534}));
    assert!(stage.run("other", once(sh(WHO)).with(other)).await?.starts_with("65534 "));
    stage.finish().await
}

/// Files on volumes belong to the group, and so does what is written there.
#[tokio::test]
async fn the_group_of_a_pod_owns_its_volumes() -> Result<()> {
    let stage = Stage::set().await?;
    let script = "cd /v; echo $(id -G); stat -c %g .; touch new; stat -c %g new; stat -L -c '%g %a' /c/k; stat -c %g /m";
    let mounts = json!({"volumeMounts": [
        {"name": "v", "mountPath": "/v"}, {"name": "c", "mountPath": "/c"}, {"name": "m", "mountPath": "/m"}]});
    stage.put::<k8s_openapi::api::core::v1::Secret>("s", json!({"stringData": {"k": "v"}})).await?;
    let volumes = json!({"volumes": [
        {"name": "v", "emptyDir": {}}, {"name": "c", "secret": {"secretName": "s", "defaultMode": 0o400}},
        {"name": "m", "emptyDir": {"medium": "Memory"}}]});
    let spec = once(sh(script).with(mounts)).with(volumes);
    let said = stage.run("grouped", spec.with(context(json!({"runAsUser": 1000, "fsGroup": 4000})))).await?;
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].split(' ').any(|id| id == "4000"), "{said}");
    assert_eq!(lines[1..], ["4000", "4000", "4000 440", "4000"]);
    stage.finish().await
}

/// What is in a claim already is given to the group, unless its root belongs to it and that is taken for all.
#[tokio::test]
async fn how_thoroughly_volumes_are_given_to_the_group_is_the_pods_choice() -> Result<()> {
    let stage = Stage::set().await?;
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}});
    stage.put::<PersistentVolumeClaim>("kept", json!({"spec": spec})).await?;
    let run = async |name: &str, script: &str, security: Value| {
        let container = sh(script).with(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}));
        let volumes = json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "kept"}}]});
        stage.run(name, once(container).with(volumes).with(context(security))).await
    };
    run("first", "touch /v/file; chgrp 55 /v/file", json!({})).await?;
    let always = json!({"fsGroup": 4000, "fsGroupChangePolicy": "Always"});
    assert_eq!(run("second", "stat -c %g /v/file; chgrp 55 /v/file", always).await?, "4000");
    let mismatch = json!({"fsGroup": 4000, "fsGroupChangePolicy": "OnRootMismatch"});
    assert_eq!(run("third", "stat -c %g /v/file", mismatch).await?, "55");
    let other = json!({"fsGroup": 4001, "fsGroupChangePolicy": "OnRootMismatch"});
    assert_eq!(run("fourth", "stat -c %g /v/file", other).await?, "4001");
    stage.finish().await
}
