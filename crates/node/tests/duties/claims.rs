//! Claims get directories, and lose or keep them.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use asb_node::cache::Cache;
use asb_node::claims::Claims;
use asb_node::trash::Trash;
use asb_node::volumes::provisioner::{self, Record};
use asb_node::volumes::{Layout, claim};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::cluster::{Cluster, become_so, gone};

async fn start(cluster: &Cluster) -> Result<Claims> {
    let (pods, claims) = (Cache::all_of(&cluster.client), Cache::all_of(&cluster.client));
    let trash = Trash::of(&cluster.settings.root);
    let (client, events) = (cluster.client.clone(), cluster.events());
    Ok(Claims::start(client, &cluster.settings, pods, claims, &events, &trash).await?)
}

fn volumes(cluster: &Cluster) -> Api<PersistentVolume> {
    Api::all(cluster.client.clone())
}

async fn ask(cluster: &Cluster, name: &str, spec: Value) -> Result<PersistentVolumeClaim> {
    let mut whole = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}});
    for (field, value) in spec.as_object().context("a spec")? {
        whole[field] = value.clone();
    }
    cluster.make(json!({"metadata": {"name": name}, "spec": whole})).await
}

fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    claim.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Bound"))
}

fn phase(volume: &PersistentVolume) -> &str {
    volume.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

async fn volume_of(cluster: &Cluster, claim: &str) -> Result<(PersistentVolumeClaim, PersistentVolume)> {
    let claim = cluster.until(claim, is_bound).await?;
    let name = claim.spec.as_ref().and_then(|spec| spec.volume_name.clone()).context("a volume")?;
    let volume = become_so(volumes(cluster), &name, |volume| phase(volume) == "Bound").await?;
    Ok((claim, volume))
}

/// What the driver of Pods asks, once the answer has come by the caches.
async fn directory(claims: &Claims, name: &str) -> Result<PathBuf> {
    let [mut some, mut other] = claims.changes();
    let found = async {
        loop {
            if let Some(path) = claims.bound("default", name) {
                return path;
            }
            tokio::select! { _ = some.changed() => {}, _ = other.changed() => {} }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), found).await.context("no directory")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_names_no_class_gets_a_directory_and_loses_it_when_it_goes() -> Result<()> {
    let cluster = Cluster::start().await?;
    let claims = start(&cluster).await?;
    ask(&cluster, "work", json!({})).await?;
    let (claim, volume) = volume_of(&cluster, "work").await?;
    assert_eq!(claim.spec.context("a spec")?.storage_class_name.as_deref(), Some(claim::CLASS));
    let path = directory(&claims, "work").await?;
    fs::write(path.join("f"), "content")?;
    cluster.told("work", "ProvisioningSucceeded").await?;
    cluster.api::<PersistentVolumeClaim>().delete("work", &DeleteParams::default()).await?;
    gone(volumes(&cluster), &volume).await?;
    assert!(!path.exists() && claims.bound("default", "work").is_none());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_in_use_stays_and_what_is_retained_outlives_it() -> Result<()> {
    let cluster = Cluster::start().await?;
    let claims = start(&cluster).await?;
    let _running = cluster.scheduled().await?;
    ask(&cluster, "work", json!({})).await?;
    let used = json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "work"}}]});
    let pod = cluster.pod("user", used).await?;
    let (claim, volume) = volume_of(&cluster, "work").await?;
    cluster.bound("user").await?;
    let retain = json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}});
    volumes(&cluster).patch(&volume.name_any(), &PatchParams::default(), &Patch::Merge(retain)).await?;
    let path = directory(&claims, "work").await?;
    cluster.api::<PersistentVolumeClaim>().delete("work", &DeleteParams::default()).await?;
    let leaving = |claim: &PersistentVolumeClaim| claim.metadata.deletion_timestamp.is_some();
    cluster.until("work", leaving).await?;
    cluster.api::<Pod>().delete("user", &DeleteParams::default().grace_period(0)).await?;
    gone(cluster.api(), &pod).await?;
    gone(cluster.api(), &claim).await?;
    let released =
        become_so(volumes(&cluster), &volume.name_any(), |volume| phase(volume) == "Released").await?;
    assert_eq!(released.metadata.uid, volume.metadata.uid);
    assert!(path.exists(), "it is kept for people to look at");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_begun_before_a_crash_is_completed() -> Result<()> {
    for steps in 0..4 {
        let cluster = Cluster::start().await?;
        drop(start(&cluster).await?);
        let claim = ask(&cluster, "work", json!({})).await?;
        begin(&cluster, &claim, steps).await?;
        let claims = start(&cluster).await?;
        volume_of(&cluster, "work").await?;
        let path = directory(&claims, "work").await?;
        assert_eq!(volumes(&cluster).list(&kube::api::ListParams::default()).await?.items.len(), 1);
        assert!(path.join("f").exists() == (steps > 0), "after {steps} steps");
    }
    Ok(())
}

/// As far as an earlier process may have come with a claim: a directory, its volume, the claim's word for it.
async fn begin(cluster: &Cluster, claim: &PersistentVolumeClaim, steps: usize) -> Result<()> {
    let name = claim::volume_name(claim).context("a uid")?;
    let layout = Layout::new(&cluster.settings.root);
    if steps > 0 {
        let claim_uid = claim.uid().context("a uid")?;
        let record = Record { claim: "default/work".into(), claim_uid, bytes: 1 << 20, project: None };
        fs::write(provisioner::provision(&layout, &name, &record)?.data.join("f"), "kept")?;
    }
    let classes: Api<StorageClass> = Api::all(cluster.client.clone());
    let class = classes.get(claim::CLASS).await?;
    let volume = claim::volume(claim, &class, &layout.data(&name)?, "here");
    if steps > 1 {
        volumes(cluster).create(&PostParams::default(), &volume).await?;
    }
    if steps > 2 {
        cluster.api().replace("work", &PostParams::default(), &claim::bound(claim, &volume)).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_was_begun_before_a_crash_is_completed_and_what_has_content_is_not_guessed_at()
-> Result<()> {
    let cluster = Cluster::start().await?;
    let claims = start(&cluster).await?;
    let claim = ask(&cluster, "work", json!({})).await?;
    let (_, volume) = volume_of(&cluster, "work").await?;
    let path = directory(&claims, "work").await?;
    drop(claims);
    cluster.api::<PersistentVolumeClaim>().delete("work", &DeleteParams::default()).await?;
    gone(cluster.api(), &claim).await?;
    let layout = Layout::new(&cluster.settings.root);
    provisioner::delete(&layout, &volume.name_any())?;
    let record = |uid: &str| Record { claim: "n/old".into(), claim_uid: uid.into(), bytes: 1, project: None };
    provisioner::provision(&layout, "empty", &record("1"))?;
    let full = provisioner::provision(&layout, "full", &record("2"))?.data;
    fs::write(full.join("f"), "of a volume whose object somebody deleted")?;
    let _claims = start(&cluster).await?;
    gone(volumes(&cluster), &volume).await?;
    assert!(!path.exists() && full.join("f").exists() && !layout.data("empty")?.exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_volume_made_by_hand_is_bound_to_the_claim_that_it_names() -> Result<()> {
    let cluster = Cluster::start().await?;
    let claims = start(&cluster).await?;
    let place = cluster.folder.path().join("by-hand");
    let spec = json!({
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": place},
        "claimRef": {"namespace": "default", "name": "work"}, "persistentVolumeReclaimPolicy": "Retain",
    });
    let volume = serde_json::from_value(json!({"metadata": {"name": "by-hand"}, "spec": spec}))?;
    volumes(&cluster).create(&PostParams::default(), &volume).await?;
    become_so(volumes(&cluster), "by-hand", |volume| phase(volume) == "Available").await?;
    let claim = ask(&cluster, "work", json!({"storageClassName": ""})).await?;
    let (_, volume) = volume_of(&cluster, "work").await?;
    assert_eq!(claim::holder(&volume).context("a claim")?.uid, claim.metadata.uid);
    assert_eq!(directory(&claims, "work").await?, place);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_had_is_told_once() -> Result<()> {
    let cluster = Cluster::start().await?;
    let _claims = start(&cluster).await?;
    ask(&cluster, "gold", json!({"storageClassName": "gold"})).await?;
    let events = cluster.told("gold", "ProvisioningFailed").await?;
    assert_eq!(events[0].message.as_deref(), Some("storageclass.storage.k8s.io \"gold\" not found"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_with_a_volume_of_its_own_is_bound_and_takes_it_along_when_it_goes() -> Result<()> {
    let cluster = Cluster::start().await?;
    let claims = start(&cluster).await?;
    let _running = cluster.scheduled().await?;
    let template =
        json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}});
    let volume = json!({"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}});
    let pod = cluster.pod("p", json!({"volumes": [volume]})).await?;
    cluster.bound("p").await?;
    let path = directory(&claims, "p-scratch").await?;
    let (_, volume) = volume_of(&cluster, "p-scratch").await?;
    cluster.api::<Pod>().delete("p", &DeleteParams::default().grace_period(0)).await?;
    gone(cluster.api(), &pod).await?;
    gone(volumes(&cluster), &volume).await?;
    assert!(!path.exists());
    Ok(())
}
