//! The Python SDK, over each of its connections.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::process::Command;

use crate::stage::{KEPT, OPEN, Stage, given, path, run};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/python/sdk.py");

/// The public methods that it called.
async fn use_sdk(
    stage: &Stage,
    mode: &str,
    pool: &str,
    environment: &[(&str, String)],
) -> Result<BTreeSet<String>> {
    let mut command = Command::new(given("ASB_TEST_SDK")?);
    command.args([SCRIPT, mode, pool, stage.namespace.name()]);
    command.env("KUBECONFIG", given("KUBECONFIG")?).env("PATH", path()?).envs(environment.iter().cloned());
    let said = run(command).await.with_context(|| format!("over the connection {mode}"))?;
    Ok(said.lines().map(str::to_owned).collect())
}

/// Who goes to the router by its own address: somebody whom the API server knows and lets reach these sandboxes.
async fn introduction(stage: &Stage) -> Result<[(&'static str, String); 2]> {
    stage.kubectl(&["create", "serviceaccount", "caller"]).await?;
    let account = format!("{}:caller", stage.namespace.name());
    let rules = ["create", "role", "reach", "--verb=create", "--resource=sandboxes.agents.x-k8s.io/connect"];
    stage.kubectl(&rules).await?;
    let binding = ["create", "rolebinding", "reach", "--role=reach", "--serviceaccount", &account];
    stage.kubectl(&binding).await?;
    let token = stage.kubectl(&["create", "token", "caller"]).await?.trim().to_owned();
    let status: Value = serde_json::from_str(&stage.asb(&["status", "-o", "json"]).await?)?;
    let router = status["router"].as_str().context("there is a router")?.to_owned();
    Ok([("ROUTER", router), ("TOKEN", token)])
}

#[tokio::test]
async fn every_public_method_works_over_every_connection() -> Result<()> {
    let stage = Stage::set().await?;
    let introduction = introduction(&stage).await?;
    let modes = [
        ("tunnel", KEPT),
        ("direct", KEPT),
        ("in-cluster", OPEN),
        ("sandboxd-tunnel", OPEN),
        ("sandboxd-in-cluster", OPEN),
        ("async-direct", KEPT),
        ("async-in-cluster", OPEN),
        ("async-sandboxd-in-cluster", OPEN),
    ];
    let mut called = BTreeSet::new();
    for (mode, pool) in modes {
        called.extend(use_sdk(&stage, mode, pool, &introduction).await?);
    }
    let public = use_sdk(&stage, "public", OPEN, &[]).await?;
    let left: Vec<_> = public.difference(&called).collect();
    assert!(left.is_empty(), "nobody calls {left:?}");
    stage.namespace.finish().await;
    Ok(())
}
