//! Volumes that outlive their Pods, and those that are claimed for one.

use anyhow::Result;
use asb_tests::wait;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::spec::{With, idle, once, sh};
use crate::stage::{Stage, condition, is_ready};

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

/// A claim that is for one Pod keeps the next one waiting; others are shared.
#[tokio::test]
async fn a_claim_is_shared_as_its_modes_say() -> Result<()> {
    let stage = Stage::set().await?;
    let modes = [("single", "ReadWriteOncePod"), ("once", "ReadWriteOnce"), ("many", "ReadWriteMany")];
    let using = |name: &str| {
        let claim = json!({"persistentVolumeClaim": {"claimName": name}});
        holding(idle(), claim).with(json!({"terminationGracePeriodSeconds": 1}))
    };
    for (name, mode) in modes {
        stage
            .put::<PersistentVolumeClaim>(name, json!({"spec": wish().with(json!({"accessModes": [mode]}))}))
            .await?;
        stage.start(&format!("{name}-first"), using(name)).await?;
        stage.create(&format!("{name}-second"), using(name)).await?;
    }
    let is_told = |pod: &Pod| condition(pod, "PodScheduled") == Some(("False", "Unschedulable"));
    stage.until("single-second", "Pending", is_told).await?;
    for name in ["once-second", "many-second"] {
        stage.until(name, "ready", is_ready).await?;
    }
    delete(&stage, "single-first").await?;
    stage.until("single-second", "ready", is_ready).await?;
    stage.finish().await
}

/// What one claim has left another takes by name, if its wish is not larger.
#[tokio::test]
async fn a_claim_takes_the_volume_that_it_names() -> Result<()> {
    let stage = Stage::set().await?;
    stage.put::<PersistentVolumeClaim>("old", json!({"spec": wish()})).await?;
    stage
        .run(
            "writer",
            holding(sh("echo kept > /v/word"), json!({"persistentVolumeClaim": {"claimName": "old"}})),
        )
        .await?;
    let claims: Api<PersistentVolumeClaim> = stage.namespace.api();
    let old = claims.get("old").await?;
    let volume = old.spec.clone().and_then(|spec| spec.volume_name).unwrap_or_default();
    let volumes: Api<PersistentVolume> = Api::all(stage.cluster.client());
    let change =
        async |change: Value| volumes.patch(&volume, &PatchParams::default(), &Patch::Merge(change)).await;
    change(json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}})).await?;
    delete(&stage, "writer").await?;
    claims.delete("old", &DeleteParams::default()).await?;
    wait::for_gone(&claims, &old).await?;
    change(json!({"spec": {"claimRef": null, "persistentVolumeReclaimPolicy": "Delete"}})).await?;
    let template = json!({"spec": wish().with(json!({"volumeName": volume}))});
    let spec = holding(sh("cat /v/word"), json!({"ephemeral": {"volumeClaimTemplate": template}}));
    assert_eq!(stage.run("reader", spec).await?, "kept");
    let claim = claims.get("reader-v").await?;
    assert_eq!(claim.spec.and_then(|spec| spec.volume_name), Some(volume));
    stage.finish().await
}

/// The size is what is asked for, and where the file system counts, what can be written.
#[tokio::test]
async fn a_claim_is_as_large_as_it_asks_for() -> Result<()> {
    let stage = Stage::set().await?;
    let resources = json!({"requests": {"storage": "3Mi"}});
    let template = json!({"spec": wish().with(json!({"resources": resources}))});
    stage.start("owner", holding(idle(), json!({"ephemeral": {"volumeClaimTemplate": template}}))).await?;
    let claim = stage.namespace.api::<PersistentVolumeClaim>().get("owner-v").await?;
    let capacity = claim.status.and_then(|status| status.capacity?.remove("storage"));
    assert_eq!(capacity.map(|size| size.0).as_deref(), Some("3Mi"));
    stage.finish().await
}

/// A class of the test's own, whose volumes this node makes.
async fn own_class(stage: &Stage, more: Value) -> Result<String> {
    let name = format!("own-{}", stage.namespace.name());
    let class = json!({"metadata": {"name": name}, "provisioner": "agent-sandbox.dev/local"}).with(more);
    let classes: Api<StorageClass> = Api::all(stage.cluster.client());
    classes.create(&PostParams::default(), &serde_json::from_value(class)?).await?;
    Ok(name)
}

async fn drop_class(stage: &Stage, name: &str) -> Result<()> {
    let classes: Api<StorageClass> = Api::all(stage.cluster.client());
    classes.delete(name, &DeleteParams::default()).await?;
    Ok(())
}

fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Bound")
}

/// A Pod that does not run here does not count.
#[tokio::test]
async fn a_claim_may_wait_for_its_first_pod() -> Result<()> {
    let stage = Stage::set().await?;
    let class = own_class(&stage, json!({"volumeBindingMode": "WaitForFirstConsumer"})).await?;
    let spec = wish().with(json!({"storageClassName": class}));
    stage.put::<PersistentVolumeClaim>("late", json!({"spec": spec})).await?;
    let told = stage.event("late", "WaitForFirstConsumer").await?;
    assert_eq!(told, "waiting for first consumer to be created before binding");
    let using =
        holding(sh("touch /v/x && echo here"), json!({"persistentVolumeClaim": {"claimName": "late"}}));
    let elsewhere = using.clone().with(json!({"nodeSelector": {"kubernetes.io/os": "plan9"}}));
    stage.create("elsewhere", elsewhere).await?;
    let is_told = |pod: &Pod| condition(pod, "PodScheduled") == Some(("False", "Unschedulable"));
    stage.until("elsewhere", "Pending", is_told).await?;
    let claims: Api<PersistentVolumeClaim> = stage.namespace.api();
    assert!(!is_bound(&claims.get("late").await?));
    assert_eq!(stage.run("first", using).await?, "here");
    assert!(is_bound(&claims.get("late").await?));
    drop_class(&stage, &class).await?;
    stage.finish().await
}

fn capacity(claim: &PersistentVolumeClaim) -> Option<&str> {
    Some(claim.status.as_ref()?.capacity.as_ref()?.get("storage")?.0.as_str())
}

#[tokio::test]
async fn a_claim_grows_where_its_class_lets_it_and_never_shrinks() -> Result<()> {
    let stage = Stage::set().await?;
    let class = own_class(&stage, json!({"allowVolumeExpansion": true})).await?;
    let claims: Api<PersistentVolumeClaim> = stage.namespace.api();
    let spec = wish().with(json!({"storageClassName": class}));
    stage.put::<PersistentVolumeClaim>("work", json!({"spec": spec})).await?;
    stage.start("user", holding(idle(), json!({"persistentVolumeClaim": {"claimName": "work"}}))).await?;
    stage.exec("user", "echo kept > /v/word").await?;
    let ask = async |size: &str| {
        let change = Patch::Merge(json!({"spec": {"resources": {"requests": {"storage": size}}}}));
        claims.patch("work", &PatchParams::default(), &change).await
    };
    ask("3Mi").await?;
    let grown = |claim: &PersistentVolumeClaim| capacity(claim) == Some("3Mi");
    wait::for_object(&claims, "work", "grown", grown).await?;
    assert_eq!(stage.exec("user", "cat /v/word").await?, "kept");
    let refused = ask("2Mi").await.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("field can not be less than status.capacity"), "{refused}");
    let fixed = Patch::Merge(json!({"allowVolumeExpansion": false}));
    let classes: Api<StorageClass> = Api::all(stage.cluster.client());
    classes.patch(&class, &PatchParams::default(), &fixed).await?;
    let refused = ask("4Mi").await.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("must support resize"), "{refused}");
    drop_class(&stage, &class).await?;
    stage.finish().await
}

/// The default one.
async fn class(stage: &Stage) -> Result<String> {
    let classes: Api<StorageClass> = Api::all(stage.cluster.client());
    let all = classes.list(&kube::api::ListParams::default()).await?;
    let is_usual = |class: &StorageClass| class.metadata.name.as_deref() == Some("asb-local");
    let name = all.items.into_iter().find(is_usual).and_then(|class| class.metadata.name);
    name.ok_or_else(|| anyhow::anyhow!("there is no StorageClass"))
}
