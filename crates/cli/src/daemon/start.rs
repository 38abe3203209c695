//! Starts the daemon of a data directory in the background, and waits until it answers.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::{holder, log};
use crate::control::Hello;
use crate::output::progress::Line;
use crate::{control, status};

/// This program, also after an upgrade has replaced its file.
const SELF: &str = "/proc/self/exe";

/// How often to look whether it is ready.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a start may take: a large store is read in full.
const MOST: Duration = Duration::from_mins(2);

/// What became of the wish for a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Begun,
    /// There was one.
    Found,
}

/// Starts one with these words after `asb`, unless one serves the directory by the time that it is our turn.
pub(crate) async fn ensure(data_dir: &Path, words: Vec<OsString>) -> Result<Start> {
    let _turn = turn(data_dir).await?;
    if is_served(data_dir).await? {
        return Ok(Start::Found);
    }
    begin(data_dir, words).await?;
    Ok(Start::Begun)
}

/// Starts one, and fails where there is one.
pub(crate) async fn start(data_dir: &Path, words: Vec<OsString>) -> Result<Hello> {
    let _turn = turn(data_dir).await?;
    begin(data_dir, words).await
}

/// Whether one answers, waiting for one that is about to start or to end.
async fn is_served(data_dir: &Path) -> Result<bool> {
    let settled = async {
        while holder(data_dir)?.is_some() {
            if ready(data_dir).await.is_some() {
                return Ok(true);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(false)
    };
    within(data_dir, settled).await
}

/// One start at a time: who comes second finds what the first has started.
async fn turn(data_dir: &Path) -> Result<File> {
    let directory = || format!("cannot use the data directory {}", data_dir.display());
    asb_apiserver::server::prepare(data_dir).with_context(directory)?;
    let mut options = File::options();
    let file = options.create(true).append(true).mode(0o600).open(data_dir.join("asb.starting"));
    let file = file.with_context(directory)?;
    let locked = tokio::task::spawn_blocking(move || file.lock().map(|()| file));
    locked.await.context("the wait for another start ended badly")?.with_context(directory)
}

async fn begin(data_dir: &Path, words: Vec<OsString>) -> Result<Hello> {
    let (log, from) = log::open(data_dir)?;
    let mut child = spawn(log, words)?;
    let mut line = Line::default();
    line.show("Agent Sandbox starts …");
    let started = async {
        loop {
            if let Some(status) = child.try_wait().context("cannot tell how the start goes")? {
                return Err(ended(status, &log::tail(data_dir, from)));
            }
            if let Some(hello) = ready(data_dir).await.filter(|hello| hello.pid == child.id()) {
                return Ok(hello);
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    within(data_dir, started).await
}

fn spawn(log: File, words: Vec<OsString>) -> Result<Child> {
    let errors = log.try_clone().context("cannot share the log")?;
    let mut command = Command::new(SELF);
    command.arg0("asb").args(words).stdin(Stdio::null()).stdout(log).stderr(errors);
    command.spawn().context("cannot start this program again")
}

/// What it says of itself, once it answers everybody.
async fn ready(data_dir: &Path) -> Option<Hello> {
    let hello = control::hello(data_dir).await.ok()??;
    status::ask(&data_dir.join("kubeconfig")).await.ok().map(|_| hello)
}

async fn within<T>(data_dir: &Path, work: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(MOST, work).await {
        Ok(done) => done,
        Err(_) => {
            bail!("it is not ready after {} s; its log is {}", MOST.as_secs(), log::path(data_dir).display())
        }
    }
}

fn ended(status: ExitStatus, tail: &str) -> anyhow::Error {
    match tail.strip_prefix("error: ") {
        // Its own words are enough.
        Some(reason) => anyhow::anyhow!("{reason}"),
        None => anyhow::anyhow!("it ended before it was ready ({status}):\n{tail}"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_daemon_that_dies_is_told_of_in_its_own_words() {
        let said = |tail| ended(ExitStatus::from_raw(256), tail).to_string();
        assert_eq!(said("error: cannot listen"), "cannot listen");
        insta::assert_snapshot!(said("thread panicked"), @r"
        it ended before it was ready (exit status: 1):
        thread panicked
        ");
    }
}
