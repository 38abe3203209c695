//! One `asb up`, from its start to the moment at which it is killed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use asb_tests::{embedded, program, wait};
use kube::Client;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::home::Home;

pub(crate) struct Daemon {
    process: Child,
    directory: PathBuf,
    log: PathBuf,
}

impl Daemon {
    /// Begins to start it.
    pub(crate) fn spawn(home: &Home) -> Result<Self> {
        Self::run(home, Self::command(home)?)
    }

    /// The same with a command that was changed.
    pub(crate) fn run(home: &Home, mut command: Command) -> Result<Self> {
        let process = command.spawn().context("start asb up")?;
        Ok(Self { process, directory: home.path().to_owned(), log: home.log() })
    }

    pub(crate) fn command(home: &Home) -> Result<Command> {
        let mut command = Command::new(program()?);
        Self::instruct(&mut command, home)?;
        Ok(command)
    }

    /// Adds the words for `asb`, and where it complains.
    pub(crate) fn instruct(command: &mut Command, home: &Home) -> Result<()> {
        let log = File::options().create(true).append(true).open(home.log())?;
        command.args(["up", "--listen", "127.0.0.1:0", "--log", "info", "--data-dir"]).arg(home.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).kill_on_drop(true);
        Ok(())
    }

    /// Starts it, and waits until Pods run.
    pub(crate) async fn start(home: &Home) -> Result<(Self, Client)> {
        let mut daemon = Self::spawn(home)?;
        let client = daemon.ready().await?;
        Ok((daemon, client))
    }

    /// Waits until it runs Pods: it answers commands last of all.
    pub(crate) async fn ready(&mut self) -> Result<Client> {
        let socket = self.directory.join("asb.sock");
        let answers =
            wait::until(wait::DEADLINE, "asb up to be ready", || async { hello(&socket).await.ok() });
        tokio::select! {
            status = self.process.wait() => bail!("asb up ended by itself ({}):\n{}", status?, self.log()),
            answers = answers => answers.with_context(|| self.log())?,
        }
        let mut config = embedded::config(&self.directory).await?;
        // An answer that was lost is the test's to judge.
        config.default_retry = false;
        Ok(Client::try_from(config)?)
    }

    /// Lets it work for so long. It must not end by itself meanwhile.
    pub(crate) async fn work(&mut self, moment: Duration) -> Result<()> {
        match timeout(moment, self.process.wait()).await {
            Ok(status) => bail!("asb up ended by itself ({}):\n{}", status?, self.log()),
            Err(_) => Ok(()),
        }
    }

    pub(crate) async fn kill(mut self) -> Result<()> {
        self.process.kill().await.context("kill asb up")
    }

    /// How it ends by itself.
    pub(crate) async fn end(&mut self) -> Result<ExitStatus> {
        Ok(timeout(wait::DEADLINE, self.process.wait()).await.context("asb up goes on")??)
    }

    /// Asks it to end. Pods go on.
    pub(crate) async fn stop(mut self) -> Result<()> {
        let id = self.process.id().context("asb up has ended")?.to_string();
        ensure!(Command::new("kill").arg(&id).status().await?.success(), "asb up ended before its time");
        let status = self.end().await?;
        ensure!(status.success(), "asb up ended badly ({status}):\n{}", self.log());
        Ok(())
    }

    pub(crate) fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// The last of what it complained of.
    pub(crate) fn log(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

const LINES: usize = 60;

/// A word with whoever answers there.
async fn hello(socket: &Path) -> Result<()> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(b"{\"request\":\"hello\"}\n").await?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).await?;
    ensure!(answer.contains("\"done\""), "{answer:?}");
    Ok(())
}
