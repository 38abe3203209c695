//! Volumes that live as long as their Pod, and those that follow objects.

use anyhow::Result;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::spec::{With, idle, once, sh};
use crate::stage::{Stage, has_ended};

/// A Pod with a volume at /v.
fn holding(container: Value, source: Value) -> Value {
    let container = container.with(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}));
    once(container).with(json!({"volumes": [json!({"name": "v"}).with(source)]}))
}

const LIST: &str = "cd /v; for f in $(find -L . -type f -not -path '*/..*' | sort); do echo $f $(stat -L -c %a $f) $(cat $f); done";

async fn objects(stage: &Stage) -> Result<()> {
    stage
        .put::<ConfigMap>("letters", json!({"data": {"a": "1", "b": "2"}, "binaryData": {"c": "Mw=="}}))
        .await?;
    stage.put::<Secret>("keys", json!({"stringData": {"k": "x", "l": "y"}})).await?;
    Ok(())
}

#[tokio::test]
async fn an_empty_directory_is_shared_by_the_containers_and_survives_a_restart() -> Result<()> {
    let stage = Stage::set().await?;
    let mounts =
        json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "m", "mountPath": "/m"}]});
    let main = sh(
        "[ -e /v/been ] || { touch /v/been; echo kept > /m/word; exit 1; }; cat /v/word /m/word; stat -f -c %T /m",
    );
    let init = sh("echo hello > /v/word; [ -z \"$(ls -A /m)\" ]").with(json!({"name": "first"}));
    let spec = json!({
        "restartPolicy": "OnFailure", "containers": [main.with(mounts.clone())], "initContainers": [init.with(mounts)],
        "volumes": [{"name": "v", "emptyDir": {}}, {"name": "m", "emptyDir": {"medium": "Memory"}}],
    });
    assert_eq!(stage.run("shared", spec).await?, "hello\nkept\ntmpfs");
    stage.finish().await
}

#[tokio::test]
async fn keys_of_objects_are_files_with_their_modes() -> Result<()> {
    let stage = Stage::set().await?;
    objects(&stage).await?;
    let all = json!({"configMap": {"name": "letters", "defaultMode": 0o640}});
    assert_eq!(stage.run("all", holding(sh(LIST), all)).await?, "./a 640 1\n./b 640 2\n./c 640 3");
    let items = json!([{"key": "b", "path": "deep/bee", "mode": 0o600}]);
    let some = json!({"configMap": {"name": "letters", "items": items}});
    assert_eq!(stage.run("some", holding(sh(LIST), some)).await?, "./deep/bee 600 2");
    let secret = json!({"secret": {"secretName": "keys", "defaultMode": 0o400, "items": [{"key": "k", "path": "key"}]}});
    assert_eq!(stage.run("secret", holding(sh(LIST), secret)).await?, "./key 400 x");
    let script = "touch /v/x 2>/dev/null || echo refused";
    assert_eq!(
        stage.run("fixed", holding(sh(script), json!({"configMap": {"name": "letters"}}))).await?,
        "refused"
    );
    stage.finish().await
}

#[tokio::test]
async fn objects_that_are_missing_are_waited_for_unless_they_are_optional() -> Result<()> {
    let stage = Stage::set().await?;
    let empty = json!({"configMap": {"name": "letters", "optional": true}});
    assert_eq!(stage.run("optional-map", holding(sh(LIST), empty)).await?, "");
    let empty = json!({"secret": {"secretName": "keys", "optional": true}});
    assert_eq!(stage.run("optional-secret", holding(sh(LIST), empty)).await?, "");
    stage.create("map", holding(sh("cat /v/a"), json!({"configMap": {"name": "letters"}}))).await?;
    stage.create("secret", holding(sh("cat /v/k"), json!({"secret": {"secretName": "keys"}}))).await?;
    assert!(stage.event("map", "FailedMount").await?.contains("letters"));
    assert!(stage.event("secret", "FailedMount").await?.contains("keys"));
    objects(&stage).await?;
    for (name, expected) in [("map", "1"), ("secret", "x")] {
        stage.until(name, "ended", has_ended).await?;
        assert_eq!(stage.logs(name, "main").await?, expected);
    }
    stage.finish().await
}

#[tokio::test]
async fn files_follow_their_objects() -> Result<()> {
    let stage = Stage::set().await?;
    objects(&stage).await?;
    let sources = json!([{"configMap": {"name": "letters"}}, {"secret": {"name": "keys"}}]);
    let mounts = json!({"volumeMounts": [{"name": "c", "mountPath": "/c"}, {"name": "s", "mountPath": "/s"}, {"name": "p", "mountPath": "/p"}]});
    let volumes = json!({"volumes": [
        {"name": "c", "configMap": {"name": "letters"}}, {"name": "s", "secret": {"secretName": "keys"}},
        {"name": "p", "projected": {"sources": sources}}]});
    stage.start("follower", once(idle().with(mounts)).with(volumes)).await?;
    let change = PatchParams::default();
    let letters = json!({"data": {"a": "changed"}});
    stage.namespace.api::<ConfigMap>().patch("letters", &change, &Patch::Merge(letters)).await?;
    let keys = json!({"stringData": {"k": "changed"}});
    stage.namespace.api::<Secret>().patch("keys", &change, &Patch::Merge(keys)).await?;
    stage.exec_until("follower", "cat /c/a /s/k /p/a /p/k", "changedchangedchangedchanged").await?;
    stage.finish().await
}

#[tokio::test]
async fn a_pod_reads_of_itself_in_files() -> Result<()> {
    let stage = Stage::set().await?;
    let items = json!([
        {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}, "mode": 0o400},
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
        {"path": "memory", "resourceFieldRef": {"containerName": "main", "resource": "limits.memory", "divisor": "1Mi"}},
    ]);
    let limits = json!({"resources": {"limits": {"memory": "64Mi"}}});
    let spec = holding(idle().with(limits), json!({"downwardAPI": {"items": items, "defaultMode": 0o440}}));
    let metadata = json!({"name": "mirror", "labels": {"app": "demo"}});
    stage
        .put::<k8s_openapi::api::core::v1::Pod>("mirror", json!({"metadata": metadata, "spec": spec}))
        .await?;
    stage.until("mirror", "ready", crate::stage::is_ready).await?;
    let expected = "./labels 440 app=\"demo\"\n./memory 440 64\n./name 400 mirror";
    assert_eq!(stage.exec("mirror", LIST).await?, expected);
    let labels = json!({"metadata": {"labels": {"app": "changed"}}});
    stage.pods().patch("mirror", &PatchParams::default(), &Patch::Merge(labels)).await?;
    stage.exec_until("mirror", "cat /v/labels", "app=\"changed\"").await?;
    stage.finish().await
}

#[tokio::test]
async fn the_runtime_that_asb_carries_is_a_volume_that_nobody_writes_to() -> Result<()> {
    let stage = Stage::set().await?;
    let script = "/v/sandboxd version | cut -d' ' -f1; touch /v/x 2>/dev/null || echo refused";
    let carried = json!({"image": {"reference": "asb.local/sandboxd", "pullPolicy": "Always"}});
    assert_eq!(stage.run("carried", holding(sh(script), carried)).await?, "sandboxd\nrefused");
    stage.finish().await
}
