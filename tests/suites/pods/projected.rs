//! Several sources in one directory.

use anyhow::Result;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::json;

use crate::spec::{With, once, sh};
use crate::stage::{Stage, has_ended};

#[tokio::test]
async fn sources_are_merged_in_one_directory() -> Result<()> {
    let stage = Stage::set().await?;
    stage.put::<ConfigMap>("letters", json!({"data": {"a": "1", "b": "2"}})).await?;
    stage.put::<Secret>("keys", json!({"stringData": {"k": "x"}})).await?;
    let resource = json!({"path": "cpu", "resourceFieldRef": {"containerName": "main", "resource": "requests.cpu", "divisor": "1m"}});
    let sources = json!([
        {"configMap": {"name": "letters", "items": [{"key": "a", "path": "deep/a", "mode": 0o600}]}},
        {"secret": {"name": "keys", "items": [{"key": "k", "path": "key"}]}},
        {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}, resource]}},
        {"configMap": {"name": "missing", "optional": true}},
        {"secret": {"name": "missing", "optional": true}},
    ]);
    let script = "cd /v; for f in $(find -L . -type f -not -path '*/..*' | sort); do echo $f $(stat -L -c %a $f) $(cat $f); done";
    let container = sh(script).with(json!({
        "volumeMounts": [{"name": "v", "mountPath": "/v"}], "resources": {"requests": {"cpu": "5m"}}}));
    let volumes =
        json!({"volumes": [{"name": "v", "projected": {"sources": sources, "defaultMode": 0o444}}]});
    let said = stage.run("merged", once(container).with(volumes)).await?;
    assert_eq!(said, "./cpu 444 5\n./deep/a 600 1\n./key 444 x\n./name 444 merged");
    stage.finish().await
}

#[tokio::test]
async fn sources_that_are_missing_are_waited_for() -> Result<()> {
    let stage = Stage::set().await?;
    let holding = |source: serde_json::Value| {
        let container = sh("cat /v/*").with(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}));
        once(container).with(json!({"volumes": [{"name": "v", "projected": {"sources": [source]}}]}))
    };
    stage.create("map", holding(json!({"configMap": {"name": "letters", "optional": false}}))).await?;
    stage.create("secret", holding(json!({"secret": {"name": "keys"}}))).await?;
    assert!(stage.event("map", "FailedMount").await?.contains("letters"));
    assert!(stage.event("secret", "FailedMount").await?.contains("keys"));
    stage.put::<ConfigMap>("letters", json!({"data": {"a": "1"}})).await?;
    stage.put::<Secret>("keys", json!({"stringData": {"k": "x"}})).await?;
    for (name, expected) in [("map", "1"), ("secret", "x")] {
        stage.until(name, "ended", has_ended).await?;
        assert_eq!(stage.logs(name, "main").await?, expected, "{name}");
    }
    stage.finish().await
}
