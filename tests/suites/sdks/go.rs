//! The Go SDK, over each of its connections. Unlike others it is asked for every method over every one.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use tokio::process::Command;

use crate::gateway::Gateway;
use crate::stage::{BUSYBOX, Environment, KEPT, Stage, given, lines, run};

/// The public methods that it called.
async fn use_sdk(stage: &Stage, mode: &str, environment: &Environment) -> Result<BTreeSet<String>> {
    let said = program(stage, [mode, KEPT], environment).await;
    Ok(lines(&said.with_context(|| format!("over the connection {mode}"))?))
}

async fn program(stage: &Stage, [subject, about]: [&str; 2], environment: &Environment) -> Result<String> {
    let mut command = Command::new(given("ASB_TEST_GO_SDK")?);
    command.args([subject, about, stage.namespace.name()]);
    command.env("KUBECONFIG", given("KUBECONFIG")?).envs(environment.iter().cloned());
    run(command).await
}

async fn every_method_works_over(mode: &str) -> Result<()> {
    let stage = Stage::set().await?;
    let introduction = stage.introduction().await?;
    let _gateway = Gateway::open(&stage, &introduction).await?;
    let called = use_sdk(&stage, mode, &introduction).await?;
    let public = use_sdk(&stage, "public", &Vec::new()).await?;
    let left: Vec<_> = public.difference(&called).collect();
    assert!(left.is_empty(), "nobody calls {left:?}");
    stage.namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn every_public_method_works_by_the_address_of_the_router() -> Result<()> {
    every_method_works_over("direct").await
}

#[tokio::test]
async fn every_public_method_works_through_the_tunnel() -> Result<()> {
    every_method_works_over("tunnel").await
}

#[tokio::test]
async fn every_public_method_works_by_a_gateway() -> Result<()> {
    every_method_works_over("gateway").await
}

#[tokio::test]
async fn what_kubectl_ai_does_works() -> Result<()> {
    let stage = Stage::empty().await?;
    stage.kubectl(&["create", "serviceaccount", "normal-user"]).await?;
    program(&stage, ["kubectl-ai", BUSYBOX], &Vec::new()).await?;
    stage.namespace.finish().await;
    Ok(())
}
