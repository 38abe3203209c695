//! Whoever asks.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::{Hello, Reply, Request, SOCKET};
use crate::image::work::Step;

/// How long to wait for a daemon that has better things to do than to answer at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) struct Connection {
    stream: BufReader<UnixStream>,
}

impl Connection {
    /// Nothing where nobody listens.
    pub(crate) async fn open(data_dir: &Path) -> Result<Option<Self>> {
        let connected = async {
            let folder = File::open(data_dir)?;
            UnixStream::connect(short(&folder)).await
        };
        match connected.await {
            Ok(stream) => Ok(Some(Self { stream: BufReader::new(stream) })),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
                Ok(None)
            }
            Err(error) => {
                Err(error).with_context(|| format!("cannot talk to the daemon of {}", data_dir.display()))
            }
        }
    }

    /// Asks, tells of each step, and returns what came of it.
    pub(crate) async fn ask<T: DeserializeOwned>(
        mut self,
        request: &Request,
        mut tell: impl FnMut(Step),
    ) -> Result<T> {
        let mut line = serde_json::to_string(request).context("a request is JSON")?;
        line.push('\n');
        self.stream.write_all(line.as_bytes()).await.context("cannot ask the daemon")?;
        loop {
            match self.next().await? {
                Reply::Step(step) => tell(step),
                Reply::Done(value) => {
                    return serde_json::from_value(value).context("the daemon is of another version");
                }
                Reply::Failed(message) => bail!("{message}"),
            }
        }
    }

    async fn next(&mut self) -> Result<Reply> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).await.context("lost the daemon")? == 0 {
            bail!("the daemon ended before it answered");
        }
        serde_json::from_str(&line).context("the daemon is of another version")
    }
}

/// What the daemon of a directory says of itself, if there is one.
pub(crate) async fn hello(data_dir: &Path) -> Result<Option<Hello>> {
    match Connection::open(data_dir).await? {
        Some(connection) => connection.ask(&Request::Hello, drop).await.map(Some),
        None => Ok(None),
    }
}

/// Has the daemon of a directory stop what runs in Pods, and end. An older one does not know how, and one that is still
/// starting does not listen yet: either is left as it is.
pub(crate) async fn halt(data_dir: &Path, grace: Duration) -> Result<()> {
    let Some(connection) = Connection::open(data_dir).await? else { return Ok(()) };
    match tokio::time::timeout(PATIENCE, connection.ask::<Value>(&Request::Halt { grace }, drop)).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the daemon does not stop Pods by itself"),
        Err(_) => tracing::debug!("the daemon is not ready to stop Pods by itself"),
    }
    Ok(())
}

/// A path can be longer than an address may be; one through a descriptor is not.
pub(super) fn short(folder: &File) -> PathBuf {
    Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(SOCKET)
}
