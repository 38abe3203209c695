//! The Python SDK, over each of its connections: as it is now, and the last of those that speak v1alpha1.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use tokio::process::Command;

use crate::gateway::Gateway;
use crate::stage::{Environment, Home, KEPT, OPEN, Stage, given, home, lines, path, run};

/// One version, and what is done with it.
struct Sdk {
    /// The variable that says where its Python is.
    python: &'static str,
    script: &'static str,
    /// Its connections, each with the pool whose sandboxes it can use.
    modes: &'static [(&'static str, &'static str)],
    /// Whether its tunnel looks for the router where the claim is. `asb up` has a sign there; a cluster does not.
    looks_nearby: bool,
}

const NOW: Sdk = Sdk {
    python: "ASB_TEST_SDK",
    script: concat!(env!("CARGO_MANIFEST_DIR"), "/clients/python/sdk.py"),
    modes: &[
        ("tunnel", KEPT),
        ("direct", KEPT),
        ("gateway", KEPT),
        ("in-cluster", OPEN),
        ("sandboxd-tunnel", OPEN),
        ("sandboxd-in-cluster", OPEN),
        ("async-direct", KEPT),
        ("async-gateway", KEPT),
        ("async-in-cluster", OPEN),
        ("async-sandboxd-in-cluster", OPEN),
    ],
    looks_nearby: false,
};

const BEFORE: Sdk = Sdk {
    python: "ASB_TEST_SDK_0_4",
    script: concat!(env!("CARGO_MANIFEST_DIR"), "/clients/python/sdk_0_4.py"),
    modes: &[
        ("tunnel", KEPT),
        ("direct", KEPT),
        ("gateway", KEPT),
        ("in-cluster", OPEN),
        ("in-cluster-address", OPEN),
        ("async-direct", KEPT),
        ("async-gateway", KEPT),
        ("async-in-cluster", OPEN),
        ("async-in-cluster-address", OPEN),
    ],
    looks_nearby: true,
};

/// The public methods that it called.
async fn use_sdk(
    sdk: &Sdk,
    stage: &Stage,
    (mode, pool): (&str, &str),
    environment: &Environment,
) -> Result<BTreeSet<String>> {
    let mut command = Command::new(given(sdk.python)?);
    command.args([sdk.script, mode, pool, stage.namespace.name()]);
    command.env("KUBECONFIG", given("KUBECONFIG")?).env("PATH", path()?).envs(environment.iter().cloned());
    // What it compiles would lie beside the scripts.
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(lines(&run(command).await.with_context(|| format!("over the connection {mode}"))?))
}

async fn every_method_works(sdk: &Sdk) -> Result<()> {
    let stage = Stage::set().await?;
    let introduction = stage.introduction().await?;
    let _gateway = Gateway::open(&stage, &introduction).await?;
    let mut called = BTreeSet::new();
    let is_served = |mode: &&(&str, &str)| mode.0 != "tunnel" || !sdk.looks_nearby || home() == Home::Machine;
    for mode in sdk.modes.iter().filter(is_served) {
        called.extend(use_sdk(sdk, &stage, *mode, &introduction).await?);
    }
    let public = use_sdk(sdk, &stage, ("public", OPEN), &Vec::new()).await?;
    let left: Vec<_> = public.difference(&called).collect();
    assert!(left.is_empty(), "nobody calls {left:?}");
    stage.namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn every_public_method_works_over_every_connection() -> Result<()> {
    every_method_works(&NOW).await
}

#[tokio::test]
async fn every_public_method_of_the_one_before_works_over_every_connection() -> Result<()> {
    every_method_works(&BEFORE).await
}
