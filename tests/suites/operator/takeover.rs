//! A namespace that upstream's controller has looked after, and that ours takes over: everything goes on as it is.

mod theirs;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use asb_tests::wait;
use asb_types::v1beta1::Sandbox;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::ListParams;
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::stage::Stage;
use theirs::Theirs;

/// The objects of a kind, by name, and their UIDs.
async fn uids<K>(stage: &Stage) -> Result<BTreeMap<String, String>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    let api: Api<K> = stage.namespace.api();
    let list = api.list(&ListParams::default()).await?;
    let is_ours = |object: &K| !object.name_any().starts_with("canary");
    Ok(list.into_iter().filter(is_ours).map(|it| (it.name_any(), it.uid().unwrap_or_default())).collect())
}

/// Everything that must be the same afterwards.
async fn everything(stage: &Stage) -> Result<[BTreeMap<String, String>; 5]> {
    Ok([
        uids::<Sandbox>(stage).await?,
        uids::<Pod>(stage).await?,
        uids::<Service>(stage).await?,
        uids::<PersistentVolumeClaim>(stage).await?,
        uids::<NetworkPolicy>(stage).await?,
    ])
}

/// What of the operator's writes makes or removes something.
fn upheavals(stage: &Stage) -> Vec<String> {
    let entries = stage.ledger.entries();
    let is_upheaval = |write: &String| !write.starts_with("PATCH") && write != "POST events";
    let others = entries.iter().filter(|entry| !entry.name.starts_with("canary"));
    others.map(ToString::to_string).filter(is_upheaval).collect()
}

async fn look_at_everything(stage: &Stage) -> Result<()> {
    stage.nudge(&stage.templates, "python").await?;
    stage.nudge(&stage.pools, "pool").await?;
    for claim in ["warm", "cold"] {
        stage.nudge(&stage.claims, claim).await?;
    }
    for name in uids::<Sandbox>(stage).await?.keys() {
        stage.nudge(&stage.sandboxes, name).await?;
    }
    Ok(())
}

#[tokio::test]
async fn not_one_pod_of_theirs_is_made_anew() -> Result<()> {
    let mut stage = Stage::set().await?;
    stage.leave().await?;
    let theirs = Theirs::make(&stage).await?;
    let before = everything(&stage).await?;
    stage.restart().await?;
    stage.canary("canary").await?;
    look_at_everything(&stage).await?;
    stage.canary("canary-again").await?;
    stage.pool_with("pool", theirs.members.len()).await?;

    assert_eq!(upheavals(&stage), Vec::<String>::new());
    assert_eq!(everything(&stage).await?, before);
    for (claim, sandbox) in [("warm", "pool-claimed"), ("cold", "cold")] {
        let status = stage.ready_claim(claim).await?.status.context("it is Ready")?;
        assert_eq!(status.sandbox.name, sandbox);
    }
    stage.finish().await
}

#[tokio::test]
async fn what_they_keep_warm_is_handed_out_as_it_is() -> Result<()> {
    let mut stage = Stage::set().await?;
    stage.leave().await?;
    let theirs = Theirs::make(&stage).await?;
    let before = uids::<Pod>(&stage).await?;
    stage.restart().await?;
    stage.claim("next", "pool", json!({})).await?;
    let name = stage.ready_claim("next").await?.status.context("it is Ready")?.sandbox.name;
    assert!(theirs.members.contains(&name), "{name}");
    assert_eq!(stage.pods.get(&name).await?.uid().as_ref(), before.get(&name));
    let is_free = |pod: &Pod| !pod.labels().contains_key(asb_types::labels::WARM_POOL);
    wait::for_object(&stage.pods, &name, "handed over", is_free).await?;
    stage.finish().await
}
