//! Many at once.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use asb_tests::wait;
use asb_types::v1beta1::{Sandbox, SandboxClaim};
use futures::future::try_join_all;
use serde_json::json;

use crate::stage::{Stage, claim_conditions, ready, sandbox_conditions};

fn is_ready(sandbox: &Sandbox) -> bool {
    ready(sandbox_conditions(sandbox)).is_some_and(|ready| ready.status == "True")
}

fn is_served(claim: &SandboxClaim) -> bool {
    ready(claim_conditions(claim)).is_some_and(|ready| ready.status == "True")
}

/// The names of the Sandboxes that so many claims on one pool get.
async fn claimed(stage: &Stage, pool: &str, count: usize) -> Result<BTreeSet<String>> {
    let names: Vec<_> = (0..count).map(|number| format!("claim-{number}")).collect();
    try_join_all(names.iter().map(|name| stage.claim(name, pool, json!({})))).await?;
    let all = |claims: &[&SandboxClaim]| claims.len() == count && claims.iter().all(|claim| is_served(claim));
    let claims = wait::for_objects(&stage.claims, "", "all Ready", all).await?;
    claims.into_iter().map(|claim| Ok(claim.status.context("it is Ready")?.sandbox.name)).collect()
}

#[tokio::test]
async fn twenty_sandboxes_at_once_all_become_ready() -> Result<()> {
    let stage = Stage::set().await?;
    let names: Vec<_> = (0..20).map(|number| format!("demo-{number}")).collect();
    try_join_all(names.iter().map(|name| stage.sandbox(name, json!({"service": true})))).await?;
    let all = |sandboxes: &[&Sandbox]| sandboxes.len() == 20 && sandboxes.iter().all(|it| is_ready(it));
    wait::for_objects(&stage.sandboxes, "", "all Ready", all).await?;
    stage.finish().await
}

#[tokio::test]
async fn where_the_pool_has_enough_every_claim_is_warm() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 25).await?;
    let sandboxes = claimed(&stage, "pool", 20).await?;
    assert_eq!(sandboxes.len(), 20);
    assert!(sandboxes.iter().all(|name| name.starts_with("pool-")), "{sandboxes:?}");
    stage.finish().await
}

#[tokio::test]
async fn where_the_pool_has_too_few_every_claim_gets_one_all_the_same() -> Result<()> {
    let stage = Stage::set().await?;
    stage.full_pool("pool", 5).await?;
    assert_eq!(claimed(&stage, "pool", 20).await?.len(), 20);
    stage.finish().await
}
