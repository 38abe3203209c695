//! `asb up` as a program: how it starts, ends, is killed and refuses.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use asb_tests::program;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use tokio::process::{Child, Command};

/// A server in a directory, which is killed with this value.
struct Server {
    process: Child,
    client: Client,
}

impl Server {
    async fn start(directory: &Path) -> Result<Self> {
        let process = up(directory, "127.0.0.1:0")?.stdout(Stdio::null()).spawn().context("start asb up")?;
        let ready = asb(&["status", "--wait", "--data-dir"])?.arg(directory).output().await?;
        ensure!(ready.status.success(), "not ready: {}", String::from_utf8_lossy(&ready.stderr));
        let kubeconfig = Kubeconfig::read_from(directory.join("kubeconfig"))?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(Self { process, client: Client::try_from(config)? })
    }

    fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), "default")
    }
}

fn asb(arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(program()?);
    command.args(arguments).kill_on_drop(true);
    Ok(command)
}

fn up(directory: &Path, listen: &str) -> Result<Command> {
    let mut command = asb(&["up", "--listen", listen, "--data-dir"])?;
    command.arg(directory);
    Ok(command)
}

fn named(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map
}

async fn refusal(mut command: Command) -> Result<String> {
    let output = command.output().await?;
    ensure!(!output.status.success(), "it was not refused");
    Ok(String::from_utf8(output.stderr)?)
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_kill() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let mut server = Server::start(directory.path()).await?;
    let created = server.config_maps().create(&PostParams::default(), &named("kept")).await?;
    server.process.kill().await?;
    let server = Server::start(directory.path()).await?;
    let found = server.config_maps().get("kept").await?;
    assert_eq!(
        (found.metadata.uid, found.metadata.resource_version),
        (created.metadata.uid, created.metadata.resource_version)
    );
    Ok(())
}

#[tokio::test]
async fn a_directory_has_one_server() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let _server = Server::start(directory.path()).await?;
    let said = refusal(up(directory.path(), "127.0.0.1:0")?).await?;
    assert!(said.contains("is in use by another process"), "{said}");
    Ok(())
}

#[tokio::test]
async fn an_address_that_is_taken_is_named() -> Result<()> {
    let (directory, taken) = (tempfile::tempdir()?, std::net::TcpListener::bind("127.0.0.1:0")?);
    let address = taken.local_addr()?.to_string();
    let said = refusal(up(directory.path(), &address)?).await?;
    assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
    Ok(())
}

#[tokio::test]
async fn a_server_that_is_asked_to_end_ends_well() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let mut server = Server::start(directory.path()).await?;
    let id = server.process.id().context("it runs")?.to_string();
    Command::new("kill").arg(&id).status().await?;
    assert!(server.process.wait().await?.success());
    Ok(())
}

#[tokio::test]
async fn nobody_else_can_read_the_keys() -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir()?;
    let _server = Server::start(directory.path()).await?;
    for file in
        ["kubeconfig", "objects.redb", "pki/authority.pem", "pki/admin.pem", "pki/service-accounts.pem"]
    {
        let mode = std::fs::metadata(directory.path().join(file))?.permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    Ok(())
}
