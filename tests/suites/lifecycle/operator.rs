//! The operator inside `asb up`.

use anyhow::{Context, Result};
use asb_tests::embedded::{Server, up};
use asb_tests::objects::{object, pod_template};
use asb_tests::wait;
use asb_types::v1beta1::Sandbox;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use tokio::process::Command;

async fn make_a_sandbox(server: &Server) -> Result<()> {
    let sandboxes = Api::<Sandbox>::namespaced(server.client.clone(), "default");
    let sandbox = object("demo", json!({"podTemplate": pod_template()}));
    sandboxes.create(&PostParams::default(), &sandbox).await?;
    Ok(())
}

#[tokio::test]
async fn a_sandbox_gets_its_pod_and_the_operator_ends_before_the_server() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let mut server = Server::start(directory.path()).await?;
    make_a_sandbox(&server).await?;
    let pods = Api::<Pod>::namespaced(server.client.clone(), "default");
    wait::for_object(&pods, "demo", "made", |_| true).await?;
    let id = server.process.id().context("it runs")?.to_string();
    Command::new("kill").arg(&id).status().await?;
    assert!(server.process.wait().await?.success());
    Ok(())
}

#[tokio::test]
async fn without_the_operator_nobody_touches_a_sandbox() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let mut command = up(directory.path(), "127.0.0.1:0")?;
    command.arg("--no-operator");
    let server = Server::run(directory.path(), command).await?;
    make_a_sandbox(&server).await?;
    // A second look at what a first start leads to gives an operator all the time it would need.
    let server = {
        drop(server);
        let mut command = up(directory.path(), "127.0.0.1:0")?;
        command.arg("--no-operator");
        Server::run(directory.path(), command).await?
    };
    let sandbox = Api::<Sandbox>::namespaced(server.client.clone(), "default").get("demo").await?;
    assert!(sandbox.status.is_none());
    Ok(())
}
