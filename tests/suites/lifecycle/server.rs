//! `asb up` in a directory, and a client of it.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use asb_tests::program;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::process::{Child, Command};

/// A server in a directory, which is killed with this value.
pub(crate) struct Server {
    pub process: Child,
    pub client: Client,
}

impl Server {
    pub(crate) async fn start(directory: &Path) -> Result<Self> {
        Self::run(directory, up(directory, "127.0.0.1:0")?).await
    }

    pub(crate) async fn run(directory: &Path, mut command: Command) -> Result<Self> {
        let process = command.stdout(Stdio::null()).spawn().context("start asb up")?;
        let ready = asb(&["status", "--wait", "--data-dir"])?.arg(directory).output().await?;
        ensure!(ready.status.success(), "not ready: {}", String::from_utf8_lossy(&ready.stderr));
        let kubeconfig = Kubeconfig::read_from(directory.join("kubeconfig"))?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(Self { process, client: Client::try_from(config)? })
    }
}

pub(crate) fn asb(arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(program()?);
    command.args(arguments).kill_on_drop(true);
    Ok(command)
}

pub(crate) fn up(directory: &Path, listen: &str) -> Result<Command> {
    let mut command = asb(&["up", "--listen", listen, "--data-dir"])?;
    command.arg(directory);
    Ok(command)
}
