//! Pools: filled, drained, and renewed when their template changes.

use anyhow::Result;
use asb_tests::wait;
use asb_types::labels::{TEMPLATE_REF_HASH, WARM_POOL};
use asb_types::v1beta1::SandboxWarmPool;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;

use crate::stage::{Stage, patch};

#[tokio::test]
async fn a_pool_fills_and_shrinks_as_asked() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("my-pool", 3).await?;
    let pool = stage.pool_with("my-pool", 3).await?;
    let status = pool.status.unwrap_or_default();
    assert_eq!(
        (status.replicas, status.selector.as_str()),
        (3, "agents.x-k8s.io/warm-pool-sandbox=244dc158")
    );
    for sandbox in stage.sandboxes.list(&ListParams::default()).await? {
        assert!(sandbox.name_any().starts_with("my-pool-"));
        assert_eq!(sandbox.labels()[WARM_POOL], "244dc158");
        assert!(sandbox.labels().contains_key(TEMPLATE_REF_HASH));
    }
    patch(&stage.pools, "my-pool", json!({"spec": {"replicas": 1}})).await?;
    stage.pool_with("my-pool", 1).await?;
    let is_small = || async {
        stage.sandboxes.list(&ListParams::default()).await.ok().filter(|list| list.items.len() == 1)
    };
    wait::until(std::time::Duration::from_secs(30), "one Sandbox left", is_small).await?;
    stage.finish().await
}

#[tokio::test]
async fn recreate_renews_members_and_metadata_alone_does_not() -> Result<()> {
    let stage = Stage::set().await?;
    stage.template("template", json!({})).await?;
    stage.pool("pool", "template", 2).await?;
    patch(&stage.pools, "pool", json!({"spec": {"updateStrategy": {"type": "Recreate"}}})).await?;
    stage.pool_with("pool", 2).await?;
    let names = || async {
        let list = stage.sandboxes.list(&ListParams::default()).await?;
        anyhow::Ok(list.iter().map(ResourceExt::name_any).collect::<Vec<_>>())
    };
    let before = names().await?;
    patch(
        &stage.templates,
        "template",
        json!({"spec": {"podTemplate": {"metadata": {"labels": {"new": "label"}}}}}),
    )
    .await?;
    stage.canary("canary").await?;
    stage.sandboxes.delete("canary", &DeleteParams::default()).await?;
    stage.sandboxes_in_number(2).await?;
    assert_eq!(names().await?, before);
    let image =
        json!({"spec": {"podTemplate": {"spec": {"containers": [{"name": "main", "image": "demo:2"}]}}}});
    patch(&stage.templates, "template", image).await?;
    let is_renewed = || async {
        let list = stage.sandboxes.list(&ListParams::default()).await.ok()?;
        let image = |sandbox: &asb_types::v1beta1::Sandbox| {
            sandbox.spec.pod_template.spec.containers[0].image.clone()
        };
        (list.items.len() == 2 && list.iter().all(|it| image(it).as_deref() == Some("demo:2"))).then_some(())
    };
    wait::until(std::time::Duration::from_secs(30), "both renewed", is_renewed).await?;
    stage.pool_with("pool", 2).await?;
    stage.finish().await
}

#[tokio::test]
async fn a_pool_without_a_template_waits_for_it() -> Result<()> {
    let stage = Stage::set().await?;
    stage.pool("pool", "template", 1).await?;
    let is_looked_at =
        |pool: &SandboxWarmPool| pool.status.as_ref().is_some_and(|status| status.observed_generation == 1);
    let pool = wait::for_object(&stage.pools, "pool", "looked at", is_looked_at).await?;
    assert_eq!(pool.status.unwrap_or_default().replicas, 0);
    stage.template("template", json!({})).await?;
    stage.pool_with("pool", 1).await?;
    stage.finish().await
}
