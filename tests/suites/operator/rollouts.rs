//! Pools whose template changes: which members are renewed, and how many at a time.

use anyhow::Result;
use asb_tests::wait;
use asb_types::v1beta1::Sandbox;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::stage::{Stage, patch, ready, sandbox_conditions};

fn image(image: &str) -> Value {
    json!({"spec": {"podTemplate": {"spec": {"containers": [{"name": "main", "image": image}]}}}})
}

fn has_image(sandbox: &Sandbox, image: &str) -> bool {
    sandbox.spec.pod_template.spec.containers[0].image.as_deref() == Some(image)
}

fn is_ready(sandbox: &Sandbox) -> bool {
    ready(sandbox_conditions(sandbox)).is_some_and(|ready| ready.status == "True")
}

fn names(sandboxes: &[Sandbox]) -> Vec<String> {
    let mut names: Vec<_> = sandboxes.iter().map(ResourceExt::name_any).collect();
    names.sort();
    names
}

#[tokio::test]
async fn members_of_an_old_template_stay_until_they_are_claimed() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 2).await?;
    patch(&stage.templates, "pool", image("demo:2")).await?;
    stage.claim("mine", "pool", json!({})).await?;
    stage.ready_claim("mine").await?;
    let mixed = |sandboxes: &[&Sandbox]| {
        let fresh = sandboxes.iter().filter(|sandbox| has_image(sandbox, "demo:2")).count();
        sandboxes.len() == 3 && fresh == 1 && sandboxes.iter().all(|sandbox| is_ready(sandbox))
    };
    wait::for_objects(&stage.sandboxes, "", "one of the new template", mixed).await?;
    stage.finish().await
}

#[tokio::test]
async fn a_change_of_one_template_leaves_the_pools_of_others_alone() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("one", 2).await?;
    stage.full_pool("other", 2).await?;
    for pool in ["one", "other"] {
        patch(&stage.pools, pool, json!({"spec": {"updateStrategy": {"type": "Recreate"}}})).await?;
    }
    let others = "agents.x-k8s.io/sandbox-template-ref-hash";
    let others = format!("{others}={}", asb_types::hash::fnv1a_hex("other"));
    let before =
        wait::for_objects(&stage.sandboxes, &others, "two", |list: &[&Sandbox]| list.len() == 2).await?;
    patch(&stage.templates, "one", image("demo:2")).await?;
    let renewed = |sandboxes: &[&Sandbox]| {
        sandboxes.len() == 4
            && sandboxes.iter().filter(|it| has_image(it, "demo:2")).count() == 2
            && sandboxes.iter().all(|it| is_ready(it))
    };
    wait::for_objects(&stage.sandboxes, "", "one pool renewed", renewed).await?;
    let after =
        wait::for_objects(&stage.sandboxes, &others, "two", |list: &[&Sandbox]| list.len() == 2).await?;
    assert_eq!(names(&before), names(&after));
    stage.finish().await
}

#[tokio::test]
async fn a_pool_that_is_given_another_template_renews_its_members() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 2).await?;
    stage.template("another", image("demo:2")["spec"].clone()).await?;
    let switched = json!({"sandboxTemplateRef": {"name": "another"}, "updateStrategy": {"type": "Recreate"}});
    patch(&stage.pools, "pool", json!({"spec": switched})).await?;
    let renewed = |sandboxes: &[&Sandbox]| {
        sandboxes.len() == 2 && sandboxes.iter().all(|it| has_image(it, "demo:2") && is_ready(it))
    };
    wait::for_objects(&stage.sandboxes, "", "both renewed", renewed).await?;
    stage.finish().await
}

#[tokio::test]
async fn a_pool_that_is_given_another_template_keeps_its_members_by_default_until_they_are_claimed()
-> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 2).await?;
    stage.template("another", image("demo:2")["spec"].clone()).await?;
    patch(&stage.pools, "pool", json!({"spec": {"sandboxTemplateRef": {"name": "another"}}})).await?;
    stage.claim("mine", "pool", json!({})).await?;
    let name = stage.ready_claim("mine").await?.status.unwrap_or_default().sandbox.name;
    assert!(has_image(&stage.sandboxes.get(&name).await?, "demo:1"), "what was there is handed out");
    let mixed = |sandboxes: &[&Sandbox]| {
        let fresh = sandboxes.iter().filter(|sandbox| has_image(sandbox, "demo:2")).count();
        sandboxes.len() == 3 && fresh == 1 && sandboxes.iter().all(|sandbox| is_ready(sandbox))
    };
    wait::for_objects(&stage.sandboxes, "", "one of the new template", mixed).await?;
    stage.finish().await
}

/// Renews a pool of four within bounds, and says the fewest that were Ready and the most that were there meanwhile.
async fn extremes(bounds: Value) -> Result<(usize, usize)> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 4).await?;
    let mut strategy = bounds;
    strategy["type"] = json!("Recreate");
    patch(&stage.pools, "pool", json!({"spec": {"updateStrategy": strategy}})).await?;
    let seen = std::cell::Cell::new((usize::MAX, 0));
    let renewed = |sandboxes: &[&Sandbox]| {
        let ready = sandboxes.iter().filter(|it| is_ready(it) && it.metadata.deletion_timestamp.is_none());
        let (fewest, most) = seen.get();
        seen.set((fewest.min(ready.count()), most.max(sandboxes.len())));
        sandboxes.len() == 4 && sandboxes.iter().all(|it| has_image(it, "demo:2") && is_ready(it))
    };
    let renewing = wait::for_objects(&stage.sandboxes, "", "all renewed", renewed);
    let change = patch(&stage.templates, "pool", image("demo:2"));
    let (renewed, changed) = tokio::join!(renewing, change);
    changed?;
    renewed?;
    stage.finish().await?;
    Ok(seen.get())
}

#[tokio::test]
async fn a_bound_on_what_may_be_missing_keeps_the_others_ready() -> Result<()> {
    let (fewest, most) = extremes(json!({"maxUnavailable": 1})).await?;
    assert!(fewest >= 3 && most <= 4, "{fewest} Ready, {most} in all");
    Ok(())
}

#[tokio::test]
async fn a_bound_on_what_may_be_too_many_keeps_all_ready() -> Result<()> {
    let (fewest, most) = extremes(json!({"maxSurge": "25%"})).await?;
    assert!(fewest >= 4 && most <= 5, "{fewest} Ready, {most} in all");
    Ok(())
}
