//! The daemon's side.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use asb_node::images::Images;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::client::short;
use super::{Hello, Reply, Request, SOCKET};
use crate::image::work;

/// The longest request, which may hold the credentials for registries.
const LONGEST: u64 = 1024 * 1024;

/// Steps that wait for a slow reader; later ones make it wait for whoever does the work.
const STEPS: usize = 16;

/// What is served to those who ask.
pub(crate) struct Control {
    pub(crate) hello: Hello,
    /// None where the daemon runs no node.
    pub(crate) images: Option<Arc<Images>>,
    /// Passes on that everything is to stop, and how long it may take.
    pub(crate) halts: mpsc::Sender<Duration>,
}

/// Where commands arrive. From when it is open they wait, until somebody answers.
pub(crate) struct Entry(UnixListener);

impl Entry {
    /// The lock on the directory says that no other daemon listens there, so what is there is left over.
    pub(crate) fn open(data_dir: &Path) -> Result<Self> {
        listen(data_dir).map(Self).context("cannot listen for commands of this machine")
    }
}

impl Control {
    /// Answers until it is told to stop. What is under way then is given up.
    pub(crate) async fn serve(self, Entry(listener): Entry, stop: CancellationToken) {
        let this = Arc::new(self);
        let mut conversations = JoinSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                Some(_) = conversations.join_next() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => drop(conversations.spawn(Arc::clone(&this).converse(stream))),
                    Err(error) => tracing::warn!(%error, "cannot take a command"),
                },
            }
        }
    }

    async fn converse(self: Arc<Self>, stream: UnixStream) {
        let (reader, mut writer) = stream.into_split();
        let mut reader = BufReader::new(reader.take(LONGEST));
        let mut line = String::new();
        // Whoever leaves before the answer does not want it.
        if reader.read_line(&mut line).await.is_err() || line.is_empty() {
            return;
        }
        let last = tokio::select! {
            last = self.answer(&line, &mut writer) => last,
            _ = reader.read_u8() => return,
        };
        let last = last.unwrap_or_else(|error| Reply::Failed(format!("{error:#}")));
        let _ = send(&mut writer, &last).await;
    }

    async fn answer(&self, line: &str, writer: &mut OwnedWriteHalf) -> Result<Reply> {
        match serde_json::from_str(line).context("not a request that this daemon knows")? {
            Request::Hello => Ok(Reply::Done(serde_json::to_value(&self.hello)?)),
            Request::Halt { grace } => {
                // Who is being stopped already takes no other word.
                let _ = self.halts.try_send(grace);
                Ok(Reply::Done(Value::Null))
            }
            Request::Image(task) => {
                let why = || format!("this daemon has no images: {}", self.hello.node);
                let images = self.images.as_ref().with_context(why)?;
                let (steps, told) = mpsc::channel(STEPS);
                let (done, ()) = tokio::join!(work::perform(images, task, steps), relay(told, writer));
                Ok(Reply::Done(done?))
            }
        }
    }
}

async fn relay(mut told: mpsc::Receiver<work::Step>, writer: &mut OwnedWriteHalf) {
    while let Some(step) = told.recv().await {
        if send(writer, &Reply::Step(step)).await.is_err() {
            return;
        }
    }
}

async fn send(writer: &mut OwnedWriteHalf, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_string(reply)?;
    line.push('\n');
    writer.write_all(line.as_bytes()).await
}

fn listen(data_dir: &Path) -> io::Result<UnixListener> {
    let path = data_dir.join(SOCKET);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let folder = File::open(data_dir)?;
    let listener = UnixListener::bind(short(&folder))?;
    fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::super::Connection;
    use super::*;
    use crate::node::State;

    #[tokio::test]
    async fn what_is_asked_before_anybody_answers_waits_for_the_answer() {
        let folder = tempfile::tempdir().expect("a folder");
        let entry = Entry::open(folder.path()).expect("listens");
        let early = Connection::open(folder.path()).await.expect("no error").expect("somebody listens");
        let hello = Hello {
            pid: 7,
            version: "1.0.0".to_owned(),
            address: ([127, 0, 0, 1], 6443).into(),
            node: State::Pretended,
            router: None,
        };
        let control = Control { hello, images: None, halts: mpsc::channel(1).0 };
        let serving = tokio::spawn(control.serve(entry, CancellationToken::new()));
        let told: Hello = early.ask(&Request::Hello, drop).await.expect("an answer");
        assert_eq!(told.pid, 7);
        serving.abort();
    }
}
