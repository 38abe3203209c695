//! The operator inside `asb up`.

use anyhow::{Context, Result};
use asb_tests::embedded::Server;
use asb_tests::objects::object;
use asb_tests::wait;
use asb_types::v1beta1::Sandbox;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use tokio::process::Command;

#[tokio::test]
async fn a_sandbox_gets_its_pod_and_the_operator_ends_before_the_server() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let mut server = Server::start(directory.path()).await?;
    let pod = json!({"spec": {"containers": [{"name": "main", "image": "busybox"}]}});
    let sandbox = object::<Sandbox>("demo", json!({"podTemplate": pod}));
    let sandboxes = Api::<Sandbox>::namespaced(server.client.clone(), "default");
    sandboxes.create(&PostParams::default(), &sandbox).await?;
    let pods = Api::<Pod>::namespaced(server.client.clone(), "default");
    wait::for_object(&pods, "demo", "made", |_| true).await?;
    let id = server.process.id().context("it runs")?.to_string();
    Command::new("kill").arg(&id).status().await?;
    assert!(server.process.wait().await?.success());
    Ok(())
}
