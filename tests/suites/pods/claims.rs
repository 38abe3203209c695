//! Volumes that outlive their Pods, and those that are claimed for one.

use anyhow::Result;
use asb_tests::wait;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use crate::spec::{With, idle, once, sh};
use crate::stage::Stage;

fn wish() -> Value {
    json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}})
}

fn holding(container: Value, source: Value) -> Value {
    let container = container.with(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}));
    once(container).with(json!({"volumes": [json!({"name": "v"}).with(source)]}))
}

async fn delete(stage: &Stage, name: &str) -> Result<()> {
    let pod = stage.pods().delete(name, &DeleteParams::default().grace_period(0)).await?;
    if let Some(pod) = pod.left() {
        wait::for_gone(&stage.pods(), &pod).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_claim_outlives_its_pod() -> Result<()> {
    let stage = Stage::set().await?;
    stage.put::<PersistentVolumeClaim>("data", json!({"spec": wish()})).await?;
    let claim =
        |read_only: bool| json!({"persistentVolumeClaim": {"claimName": "data", "readOnly": read_only}});
    stage.run("writer", holding(sh("echo kept > /v/word; chown 1000 /v/word"), claim(false))).await?;
    delete(&stage, "writer").await?;
    let script = "cat /v/word; stat -c %u /v/word; touch /v/x 2>/dev/null || echo refused";
    assert_eq!(stage.run("reader", holding(sh(script), claim(true))).await?, "kept\n1000\nrefused");
    stage.finish().await
}

/// Its name is that of Pod and volume, and it goes with the Pod.
#[tokio::test]
async fn a_pod_brings_claims_along() -> Result<()> {
    let stage = Stage::set().await?;
    let class = class(&stage).await?;
    let metadata = json!({"labels": {"app": "demo"}, "annotations": {"note": "mine"}});
    let spec = wish().with(json!({"volumeMode": "Filesystem", "storageClassName": class}));
    let template = json!({"metadata": metadata, "spec": spec});
    let spec = holding(idle(), json!({"ephemeral": {"volumeClaimTemplate": template}}));
    stage.start("owner", spec).await?;
    stage.exec("owner", "echo mine > /v/word; grep -q ' /v ' /proc/mounts").await?;
    let claims: Api<PersistentVolumeClaim> = stage.namespace.api();
    let claim = claims.get("owner-v").await?;
    assert_eq!(
        claim.metadata.labels.as_ref().and_then(|labels| labels.get("app")).map(String::as_str),
        Some("demo")
    );
    let annotations = claim.metadata.annotations.as_ref();
    assert_eq!(annotations.and_then(|notes| notes.get("note")).map(String::as_str), Some("mine"));
    let spec = claim.spec.clone().unwrap_or_default();
    assert_eq!((spec.storage_class_name, spec.volume_mode.as_deref()), (Some(class), Some("Filesystem")));
    delete(&stage, "owner").await?;
    wait::for_gone(&claims, &claim).await?;
    stage.finish().await
}

/// The default one.
async fn class(stage: &Stage) -> Result<String> {
    use k8s_openapi::api::storage::v1::StorageClass;
    let classes: Api<StorageClass> = Api::all(stage.cluster.client());
    let all = classes.list(&kube::api::ListParams::default()).await?;
    let name = all.items.into_iter().find_map(|class| class.metadata.name);
    name.ok_or_else(|| anyhow::anyhow!("there is no StorageClass"))
}
