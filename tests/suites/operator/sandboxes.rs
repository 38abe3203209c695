//! Plain Sandboxes: a Pod, its volumes and its Service, suspended and resumed.

use anyhow::{Context, Result};
use asb_tests::wait;
use asb_types::labels::SANDBOX_NAME_HASH;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Service};
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::stage::{Stage, condition, patch, said, sandbox_conditions};

#[tokio::test]
async fn a_sandbox_gets_a_pod_and_a_service_and_says_so() -> Result<()> {
    let stage = Stage::set().await?;
    stage.sandbox("my-sandbox", json!({"service": true})).await?;
    let sandbox = stage.ready_sandbox("my-sandbox").await?;
    let status = sandbox.status.clone().context("it has a status")?;
    assert_eq!(
        said(&status.conditions),
        [
            "PodScheduled=True PodScheduled: ",
            "Ready=True DependenciesReady: Pod is Ready; Service Exists",
            "Suspended=False NotSuspended: Sandbox is not suspended",
        ]
    );
    assert!(status.conditions.iter().all(|condition| condition.observed_generation == Some(1)));
    assert_eq!(status.selector, "agents.x-k8s.io/sandbox-name-hash=374de8f5");
    assert_eq!(status.service_fqdn, format!("my-sandbox.{}.svc.cluster.local", stage.namespace));
    assert_eq!((status.service.as_str(), status.pod_ips.len()), ("my-sandbox", 1));

    let pod = stage.pods.get("my-sandbox").await?;
    assert_eq!(pod.labels()["team"], "blue");
    assert_eq!(pod.labels()[SANDBOX_NAME_HASH], "374de8f5");
    assert_eq!(pod.annotations()["note"], "kept");
    let owner = &pod.owner_references()[0];
    assert_eq!(
        (owner.uid.as_str(), owner.api_version.as_str()),
        (sandbox.uid().unwrap_or_default().as_str(), "agents.x-k8s.io/v1beta1")
    );
    assert_eq!((owner.controller, owner.block_owner_deletion), (Some(true), Some(true)));
    let services: Api<Service> = stage.namespace.api();
    let service = services.get("my-sandbox").await?;
    assert_eq!(service.owner_references(), pod.owner_references());
    let service = service.spec.context("it has a spec")?;
    assert_eq!(service.cluster_ip.as_deref(), Some("None"));
    let selector = service.selector.unwrap_or_default();
    assert_eq!(selector, [(SANDBOX_NAME_HASH.to_owned(), "374de8f5".to_owned())].into());
    let ports: Vec<_> = service.ports.iter().flatten().map(|port| (port.name.clone(), port.port)).collect();
    assert_eq!(ports, [(Some("p-8080-tcp".to_owned()), 8080)]);
    stage.finish().await
}

#[tokio::test]
async fn a_suspended_sandbox_keeps_its_volume_and_gets_another_pod_when_resumed() -> Result<()> {
    let stage = Stage::set().await?;
    let volume = json!({"metadata": {"name": "work"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    stage.sandbox("demo", json!({"volumeClaimTemplates": [volume]})).await?;
    stage.ready_sandbox("demo").await?;
    let first = stage.pods.get("demo").await?;
    let mounted =
        first.spec.iter().flat_map(|spec| spec.volumes.iter().flatten()).find(|it| it.name == "work");
    let source = mounted.and_then(|volume| volume.persistent_volume_claim.as_ref());
    assert_eq!(source.map(|source| source.claim_name.as_str()), Some("work-demo"));

    patch(&stage.sandboxes, "demo", json!({"spec": {"operatingMode": "Suspended"}})).await?;
    let suspended = stage.sandbox_with("demo", "Suspended", "PodTerminated").await?;
    assert!(stage.pods.get_opt("demo").await?.is_none());
    let volumes: Api<PersistentVolumeClaim> = stage.namespace.api();
    let volume = volumes.get("work-demo").await?;
    assert_eq!(volume.owner_references()[0].name, "demo");
    assert!(!suspended.status.context("it has a status")?.selector.is_empty());

    patch(&stage.sandboxes, "demo", json!({"spec": {"operatingMode": "Running"}})).await?;
    let resumed = stage.ready_sandbox("demo").await?;
    assert_ne!(stage.pods.get("demo").await?.uid(), first.uid());
    assert_eq!(volumes.get("work-demo").await?.uid(), volume.uid());
    let suspended = condition(sandbox_conditions(&resumed), "Suspended").context("always there")?;
    assert_eq!((suspended.status.as_str(), suspended.reason.as_str()), ("False", "NotSuspended"));
    stage.finish().await
}

#[tokio::test]
async fn a_pod_that_somebody_deletes_comes_back() -> Result<()> {
    let stage = Stage::set().await?;
    stage.sandbox("demo", json!({})).await?;
    let before = stage.ready_sandbox("demo").await?;
    let pod = stage.pods.get("demo").await?;
    stage.pods.delete("demo", &DeleteParams::default()).await?;
    wait::for_gone(&stage.pods, &pod).await?;
    wait::for_object(&stage.pods, "demo", "another Pod", |another: &Pod| another.uid() != pod.uid()).await?;
    let after = stage.ready_sandbox("demo").await?;
    let suspended = |sandbox| {
        condition(sandbox_conditions(sandbox), "Suspended")
            .map(|it| (it.status.clone(), it.last_transition_time.clone()))
    };
    assert_eq!(suspended(&before), suspended(&after));
    assert_eq!(suspended(&after).map(|(status, _)| status).as_deref(), Some("False"));
    stage.finish().await
}

#[tokio::test]
async fn somebody_elses_pod_is_left_alone() -> Result<()> {
    let stage = Stage::set().await?;
    let foreign =
        json!({"metadata": {"name": "demo"}, "spec": {"containers": [{"name": "c", "image": "demo:1"}]}});
    stage.pods.create(&PostParams::default(), &serde_json::from_value(foreign)?).await?;
    stage.sandbox("demo", json!({})).await?;
    let refused = stage.sandbox_with("demo", "Ready", "ReconcilerError").await?;
    let ready = condition(sandbox_conditions(&refused), "Ready").context("just seen")?;
    assert!(ready.message.contains("cannot adopt unowned pod \"demo\""), "{}", ready.message);

    patch(&stage.sandboxes, "demo", json!({"spec": {"operatingMode": "Suspended"}})).await?;
    stage.sandbox_with("demo", "Suspended", "PodNotOwned").await?;
    assert!(stage.pods.get("demo").await?.metadata.deletion_timestamp.is_none());
    stage.finish().await
}
