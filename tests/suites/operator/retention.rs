//! Volumes: whose they are, what becomes of them, and that their templates stay as they are.

use anyhow::{Result, ensure};
use asb_tests::wait;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::DeleteParams;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::stage::{Stage, patch};

fn volume() -> Value {
    json!({"metadata": {"name": "work"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
}

fn policy(when_deleted: &str) -> Value {
    json!({"volumeClaimRetentionPolicy": {"whenDeleted": when_deleted}})
}

#[tokio::test]
async fn the_templates_of_volumes_cannot_be_changed() -> Result<()> {
    let stage = Stage::set().await?;
    stage.sandbox("demo", json!({"volumeClaimTemplates": [volume()]})).await?;
    let refused = patch(&stage.sandboxes, "demo", json!({"spec": {"volumeClaimTemplates": null}})).await;
    let Err(error) = refused else { anyhow::bail!("it was taken") };
    ensure!(format!("{error:?}").contains("volumeClaimTemplates is immutable"), "{error:?}");
    stage.finish().await
}

#[tokio::test]
async fn volumes_of_a_template_that_retains_them_outlive_claims_and_not_members() -> Result<()> {
    let stage = Stage::set().await?;
    let volumes: Api<PersistentVolumeClaim> = stage.namespace.api();
    let mut spec = policy("Retain");
    spec["volumeClaimTemplates"] = json!([volume()]);
    stage.template("pool", spec).await?;
    stage.pool("pool", "pool", 1).await?;
    stage.pool_with("pool", 1).await?;
    let member = stage.sandboxes_in_number(1).await?[0].name_any();
    let volume = format!("work-{member}");
    assert_eq!(volumes.get(&volume).await?.owner_references().len(), 1, "nobody has claimed it");
    stage.claim("mine", "pool", json!({})).await?;
    stage.ready_claim("mine").await?;
    let is_free = |volume: &PersistentVolumeClaim| volume.owner_references().is_empty();
    wait::for_object(&volumes, &volume, "nobody's", is_free).await?;
    assert!(stage.sandboxes.get(&member).await?.spec.volume_claim_retention_policy.is_some());
    stage.finish().await
}

#[tokio::test]
async fn volumes_that_are_to_stay_belong_to_nobody_and_outlive_their_sandbox() -> Result<()> {
    let stage = Stage::set().await?;
    let volumes: Api<PersistentVolumeClaim> = stage.namespace.api();
    let mut spec = policy("Retain");
    spec["volumeClaimTemplates"] = json!([volume()]);
    let sandbox = stage.sandbox("demo", spec).await?;
    stage.ready_sandbox("demo").await?;
    let kept = volumes.get("work-demo").await?;
    assert!(kept.owner_references().is_empty());

    for (when_deleted, owners) in [("Delete", 1), ("Retain", 0)] {
        patch(&stage.sandboxes, "demo", json!({"spec": policy(when_deleted)})).await?;
        let is_owned_so = |volume: &PersistentVolumeClaim| volume.owner_references().len() == owners;
        wait::for_object(&volumes, "work-demo", &format!("{owners} owners"), is_owned_so).await?;
    }
    stage.sandboxes.delete("demo", &DeleteParams::default()).await?;
    wait::for_gone(&stage.sandboxes, &sandbox).await?;
    let pod = stage.pods.get_opt("demo").await?;
    if let Some(pod) = pod {
        wait::for_gone(&stage.pods, &pod).await?;
    }
    assert_eq!(volumes.get("work-demo").await?.uid(), kept.uid());
    stage.finish().await
}
