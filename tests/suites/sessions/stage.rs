//! A namespace with an operator of its own, and `asb` in it.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use asb_operator::{Operator, Settings};
use asb_tests::{Cluster, Namespace, program};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) const BUSYBOX: &str = "asb.test/busybox:1";
/// Containers of a busy machine take their time.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) struct Stage {
    pub(crate) namespace: Namespace,
    operator: JoinHandle<()>,
    stop: CancellationToken,
}

/// What a command said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Stage {
    pub(crate) async fn set() -> Result<Self> {
        let cluster = Cluster::connect().await?;
        let namespace = cluster.namespace().await?;
        let settings = Settings { namespace: Some(namespace.name().to_owned()), ..Settings::default() };
        let stop = CancellationToken::new();
        let operator = Operator::new(cluster.client(), settings, None);
        Ok(Self { operator: tokio::spawn(operator.run(stop.clone())), namespace, stop })
    }

    /// A Sandbox that only waits to be talked to.
    pub(crate) async fn idle(&self, name: &str) -> Result<()> {
        let script = "trap 'exit 0' TERM; while :; do sleep 0.2; done";
        self.answer(&["run", "-d", "--name", name, "--image", BUSYBOX, "--", "sh", "-c", script])
            .await
            .map(drop)
    }

    /// The arguments of a command in this namespace.
    pub(crate) fn arguments<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        [&["-n", self.namespace.name()], arguments].concat()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(program()?);
        command.args(self.arguments(arguments)).env_remove("ASB_DATA_DIR").env("KUBECONFIG", kubeconfig()?);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        Ok(command)
    }

    pub(crate) async fn asb(&self, arguments: &[&str], input: &str) -> Result<Said> {
        let mut child = self.command(arguments)?.spawn().context("start asb")?;
        let mut stdin = child.stdin.take().context("it is piped")?;
        let feed = async {
            // A command that reads nothing may be gone before it was told anything.
            let _ = stdin.write_all(input.as_bytes()).await;
            drop(stdin);
        };
        let talk = async { tokio::join!(feed, child.wait_with_output()).1 };
        let output = tokio::time::timeout(PATIENCE, talk)
            .await
            .with_context(|| format!("{arguments:?} goes on"))??;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Said { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) })
    }

    /// What it answered; failing is a failure of the test.
    pub(crate) async fn answer(&self, arguments: &[&str]) -> Result<String> {
        let said = self.asb(arguments, "").await?;
        ensure!(said.code == Some(0), "asb {arguments:?}: {said:?}");
        Ok(said.stdout)
    }

    pub(crate) async fn finish(self) -> Result<()> {
        self.namespace.finish().await;
        self.stop.cancel();
        self.operator.await.context("the operator ended badly")
    }
}

pub(crate) fn kubeconfig() -> Result<std::ffi::OsString> {
    std::env::var_os("ASB_TEST_KUBECONFIG").context("ASB_TEST_KUBECONFIG is not set")
}
