//! `asb up` with a kubelet that runs nothing, and `asb` as a person types it.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use asb_tests::embedded::{self, Server};
use asb_tests::program;
use tempfile::TempDir;
use tokio::process::Command;

pub(crate) struct Stage {
    pub(crate) directory: TempDir,
    /// It ends with the stage.
    #[expect(dead_code, reason = "held for its end")]
    server: Server,
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
        let directory = TempDir::new()?;
        let mut up = embedded::up(directory.path(), "127.0.0.1:0")?;
        up.arg("--fake-kubelet");
        let server = Server::run(directory.path(), up).await?;
        Ok(Self { directory, server })
    }

    /// A command for this server, with nothing else around it.
    pub(crate) fn command(&self, line: &str) -> Result<Command> {
        let mut command = bare(line)?;
        command.env("ASB_DATA_DIR", self.directory.path());
        Ok(command)
    }

    pub(crate) async fn asb(&self, line: &str) -> Result<Said> {
        said(self.command(line)?).await
    }

    /// What it answered; failing is a failure of the test.
    pub(crate) async fn answer(&self, line: &str) -> Result<String> {
        let said = self.asb(line).await?;
        ensure!(said.code == Some(0), "asb {line}: {said:?}");
        Ok(said.stdout)
    }
}

/// A command in an environment where nobody has said anything.
pub(crate) fn bare(line: &str) -> Result<Command> {
    with_program(&program()?, line)
}

pub(crate) fn with_program(program: &Path, line: &str) -> Result<Command> {
    let mut command = Command::new(program);
    command
        .args(line.split_whitespace())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").context("a PATH")?);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    Ok(command)
}

pub(crate) async fn said(mut command: Command) -> Result<Said> {
    let output =
        tokio::time::timeout(asb_tests::wait::DEADLINE, command.output()).await.context("it goes on")??;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Said { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) })
}
