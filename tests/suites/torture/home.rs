//! A data directory with `asb up` in it, which tests start, kill and ask. Whatever runs there ends with this value.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use asb_tests::{program, wait};
use tempfile::TempDir;
use tokio::process::Command;

use crate::account;
use crate::census::Census;
use crate::daemon::Daemon;

pub(crate) struct Home {
    directory: TempDir,
    /// Beside it: the data directory may be full.
    log: TempDir,
}

/// What a command said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Home {
    pub(crate) fn new() -> Result<Self> {
        let folder = || tempfile::Builder::new().prefix("asb-torture-").tempdir();
        Ok(Self { directory: folder()?, log: folder()? })
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.log.path().join("log")
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn command(&self, words: &[&str]) -> Result<Command> {
        let mut command = Command::new(program()?);
        command.args(words).env_remove("KUBECONFIG").env("ASB_DATA_DIR", self.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        Ok(command)
    }

    pub(crate) async fn asb(&self, words: &[&str]) -> Result<Said> {
        let output = tokio::time::timeout(wait::DEADLINE, self.command(words)?.output());
        let output = output.await.with_context(|| format!("asb {words:?} goes on"))??;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Said { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) })
    }

    /// What it answered; failing is a failure of the test.
    pub(crate) async fn answer(&self, words: &[&str]) -> Result<String> {
        let said = self.asb(words).await?;
        ensure!(said.code == Some(0), "asb {words:?}: {said:?}");
        Ok(said.stdout)
    }

    /// `asb fsck` finds nothing.
    pub(crate) async fn must_be_sound(&self) -> Result<()> {
        let said = self.asb(&["fsck"]).await?;
        ensure!(said.code == Some(0), "asb fsck: {}{}", said.stdout, said.stderr);
        Ok(())
    }

    /// Every test ends so: with a machine that is as it was before. To be called when all sandboxes have been deleted.
    pub(crate) async fn finish(self, daemon: Daemon) -> Result<()> {
        let census = Census::of(self.path())?;
        census.must_find_no_pods().await?;
        self.must_be_sound().await?;
        daemon.stop().await?;
        self.answer(&["down"]).await?;
        census.must_find_nothing().await?;
        account::tell(&census.extent()?);
        Ok(())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let Ok(program) = program() else { return };
        let mut down = std::process::Command::new(program);
        down.args(["down", "--grace", "0s", "--data-dir"]).arg(self.directory.path());
        // What a test has stopped by itself is not there any more.
        let _ = down.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}
