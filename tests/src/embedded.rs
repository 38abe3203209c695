//! `asb up` in a directory of its own, for tests that start, kill or attack it.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::process::{Child, Command};

use crate::program;

/// A server, which is killed with this value.
pub struct Server {
    pub process: Child,
    /// Of its administrator.
    pub client: Client,
}

impl Server {
    pub async fn start(directory: &Path) -> Result<Self> {
        Self::run(directory, up(directory, "127.0.0.1:0")?).await
    }

    /// The same with a command that was changed.
    pub async fn run(directory: &Path, mut command: Command) -> Result<Self> {
        let process = command.stdout(Stdio::null()).spawn().context("start asb up")?;
        let ready = asb(&["status", "--wait", "--data-dir"])?.arg(directory).output().await?;
        ensure!(ready.status.success(), "not ready: {}", String::from_utf8_lossy(&ready.stderr));
        Ok(Self { process, client: Client::try_from(config(directory).await?)? })
    }

    /// A client with nothing but a token to say who it is; with an empty one, a stranger.
    pub async fn with_token(directory: &Path, token: &str) -> Result<Client> {
        let token = Some(token).filter(|token| !token.is_empty()).map(|token| token.to_owned().into());
        let mut config = config(directory).await?;
        config.auth_info = AuthInfo { token, ..AuthInfo::default() };
        Ok(Client::try_from(config)?)
    }
}

/// How a client reaches the server of a directory.
pub async fn config(directory: &Path) -> Result<Config> {
    let kubeconfig = Kubeconfig::read_from(directory.join("kubeconfig"))?;
    Ok(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
}

/// The command that serves a directory.
pub fn up(directory: &Path, listen: &str) -> Result<Command> {
    let mut command = asb(&["up", "--no-node", "--listen", listen, "--data-dir"])?;
    command.arg(directory);
    Ok(command)
}

fn asb(arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(program()?);
    command.args(arguments).kill_on_drop(true);
    Ok(command)
}
