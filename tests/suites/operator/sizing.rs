//! Pools whose size follows demand, and their size as others see it.

use anyhow::{Context, Result};
use asb_tests::wait;
use asb_types::v1beta1::SandboxWarmPool;
use jiff::SignedDuration;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::roles::{Role, Roles};
use crate::stage::{Stage, create, ready};

#[tokio::test]
async fn a_pool_between_two_sizes_grows_with_demand_and_says_why() -> Result<()> {
    let stage = Stage::with(Roles::all(Role::Wait)).await?;
    stage.template("pool", json!({})).await?;
    let spec = json!({"minSize": 1, "maxSize": 2, "sandboxTemplateRef": {"name": "pool"}});
    let _: SandboxWarmPool = create(&stage.pools, "pool", spec).await?;
    let member = stage.sandboxes_in_number(1).await?[0].name_any();
    let is_small = |pool: &SandboxWarmPool| desired(pool) == Some(1);
    wait::for_object(&stage.pools, "pool", "one wanted", is_small).await?;

    stage.clock.advance(SignedDuration::from_secs(20));
    stage.start(&member).await?;
    stage.ready_sandbox(&member).await?;
    stage.claim("mine", "pool", json!({})).await?;
    stage.ready_claim("mine").await?;
    let is_large = |pool: &SandboxWarmPool| desired(pool) == Some(2);
    let pool = wait::for_object(&stage.pools, "pool", "two wanted", is_large).await?;
    let status = pool.status.context("it has one")?;
    let message = &ready(&status.conditions).context("it has a condition Ready")?.message;
    assert!(message.contains("sized by maxSize") && message.contains("claims a second"), "{message}");
    stage.sandboxes_in_number(3).await?;
    stage.finish().await
}

fn desired(pool: &SandboxWarmPool) -> Option<i32> {
    pool.status.as_ref()?.desired_replicas
}

#[tokio::test]
async fn a_pool_is_scaled_and_counted_through_its_subresource() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("my-pool", 1).await?;
    let scale = Patch::Merge(json!({"spec": {"replicas": 3}}));
    stage.pools.patch_scale("my-pool", &PatchParams::default(), &scale).await?;
    let pool = stage.pool_with("my-pool", 3).await?;
    let scale = stage.pools.get_scale("my-pool").await?;
    let status = scale.status.context("it has one")?;
    assert_eq!(
        (status.replicas, status.selector.as_deref()),
        (3, Some("agents.x-k8s.io/warm-pool-sandbox=244dc158"))
    );
    let told = pool.status.context("it has one")?;
    assert_eq!((told.observed_generation, told.desired_replicas), (2, Some(3)));
    stage.finish().await
}

#[tokio::test]
async fn a_pool_and_a_template_say_how_they_are() -> Result<()> {
    let stage = Stage::set().await?;
    stage.pool("pool", "template", 1).await?;
    let waits = |pool: &SandboxWarmPool| told(pool).contains(&json!("TemplateNotFound"));
    wait::for_object(&stage.pools, "pool", "without its template", waits).await?;
    stage.template("template", json!({})).await?;
    let is_full = |pool: &SandboxWarmPool| told(pool).contains(&json!("Full"));
    let pool = wait::for_object(&stage.pools, "pool", "full", is_full).await?;
    assert_eq!(told(&pool), [json!("Full"), json!("WarmPoolProgressing")]);
    let template = stage.templates.get("template").await?.status.context("it has one")?;
    assert_eq!(template.observed_generation, 1);
    assert_eq!(ready(&template.conditions).map(|it| it.reason.as_str()), Some("NetworkPolicyReady"));
    stage.finish().await
}

fn told(pool: &SandboxWarmPool) -> Vec<Value> {
    let conditions = pool.status.iter().flat_map(|status| &status.conditions);
    conditions.map(|condition| json!(condition.reason)).collect()
}
