//! The Go SDK, over each of its connections. Unlike others it is asked for every method over every one.

use std::collections::BTreeSet;
use std::ffi::OsString;

use anyhow::{Context, Result};
use tempfile::NamedTempFile;
use tokio::process::Command;

use crate::gateway::Gateway;
use crate::stage::{BUSYBOX, Environment, KEPT, Stage, given, lines, run};

/// The public methods that it called.
async fn use_sdk(stage: &Stage, mode: &str, environment: &Environment) -> Result<BTreeSet<String>> {
    let said = program(stage, [mode, KEPT], environment).await;
    Ok(lines(&said.with_context(|| format!("over the connection {mode}"))?))
}

async fn program(stage: &Stage, what: [&str; 2], environment: &Environment) -> Result<String> {
    program_of(given("KUBECONFIG")?, stage, what, environment).await
}

async fn program_of(
    kubeconfig: OsString,
    stage: &Stage,
    [subject, about]: [&str; 2],
    environment: &Environment,
) -> Result<String> {
    let mut command = Command::new(given("ASB_TEST_GO_SDK")?);
    command.args([subject, about, stage.namespace.name()]);
    command.env("KUBECONFIG", kubeconfig).envs(environment.iter().cloned());
    run(command).await
}

/// The rights that the SDK needs for its tunnel, but the one to reach Sandboxes.
const RIGHTS: &str = "sandboxclaims.extensions.agents.x-k8s.io,sandboxes.agents.x-k8s.io,\
                      endpointslices.discovery.k8s.io,pods/portforward";

/// Somebody who has rights to these resources of the namespace, and none elsewhere.
async fn tenant(stage: &Stage, name: &str, resources: &str) -> Result<NamedTempFile> {
    stage.kubectl(&["create", "serviceaccount", name]).await?;
    let resources = format!("--resource={resources}");
    stage.kubectl(&["create", "role", name, "--verb=create,get,list,watch,delete", &resources]).await?;
    let (role, account) =
        (format!("--role={name}"), format!("--serviceaccount={}:{name}", stage.namespace.name()));
    stage.kubectl(&["create", "rolebinding", name, &role, &account]).await?;
    stage.login(name).await
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
async fn the_tunnel_needs_rights_in_the_namespace_of_the_claim_alone() -> Result<()> {
    let stage = Stage::set().await?;
    let all = format!("{RIGHTS},sandboxes.agents.x-k8s.io/connect");
    let tenant_of_it = tenant(&stage, "tenant", &all).await?;
    program_of(tenant_of_it.path().into(), &stage, ["tunnel", KEPT], &Vec::new()).await?;
    let stranger = tenant(&stage, "stranger", RIGHTS).await?;
    let refused = program_of(stranger.path().into(), &stage, ["tunnel", KEPT], &Vec::new()).await;
    let words = refused.err().context("whoever may not reach Sandboxes is refused")?.to_string();
    assert!(words.contains("returned status 403"), "{words}");
    stage.namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn what_kubectl_ai_does_works() -> Result<()> {
    let stage = Stage::empty().await?;
    stage.kubectl(&["create", "serviceaccount", "normal-user"]).await?;
    program(&stage, ["kubectl-ai", BUSYBOX], &Vec::new()).await?;
    stage.namespace.finish().await;
    Ok(())
}
