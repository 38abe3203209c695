//! Joining the first process of a container: its output from then on, and its input if it has one.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::FutureExt;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{mpsc, watch};

use super::error::Error;
use super::exec::{reader, writer};
use super::session::{Input, Output, Session, Size, Wanted};
use super::terminal::Terminal;
use super::{Streams, Target};
use crate::shim::client::Client;
use crate::shim::directory::Directory;
use crate::shim::plan::{ContainerPlan, Stdin};
use crate::shim::protocol::{Attempt, Phase, Request};

impl Streams {
    /// Ends with the container, or when it has left behind a reader that was too slow. Says nothing of the exit code, as
    /// other runtimes do: the Pod's status has it.
    pub async fn attach(&self, target: &Target, wanted: Wanted) -> Result<Session, Error> {
        let place = self.place(target)?;
        let (mut client, attempt) = place.running().await?;
        let plan = place.directory.container(&attempt)?;
        let plan = plan.ok_or_else(|| Error::NotRunning(place.container.clone()))?;
        // Who wants to type into what reads nothing is not kept from looking.
        let stdin = wanted.stdin && plan.stdin != Stdin::Closed;
        let attach = Request::Attach { attempt: attempt.clone(), stdin };
        let descriptors = client.done(attach).await?;
        let ends = Ends::of(descriptors, stdin, &plan, wanted)
            .map_err(|error| Error::Step("join a container", error))?;
        let (size, sizes) = watch::channel(Size::default());
        let resizing = resize(place.directory.clone(), attempt.clone(), sizes);
        let ended = ended(client, attempt);
        let Ends { stdin, stdout, stderr, mut left } = ends;
        Ok(Session {
            stdin,
            stdout,
            stderr,
            size: plan.process.tty.then_some(size),
            exit: async move {
                tokio::select! {
                    result = ended => result?,
                    () = all_left(&mut left) => {}
                    never = resizing => match never {},
                }
                Ok(0)
            }
            .boxed(),
        })
    }
}

/// Our ends, and a word when nobody reads any more.
struct Ends {
    stdin: Option<Input>,
    stdout: Option<Output>,
    stderr: Option<Output>,
    /// None if nobody wanted to read.
    left: Option<mpsc::Receiver<()>>,
}

impl Ends {
    fn of(
        descriptors: Vec<OwnedFd>,
        with_stdin: bool,
        plan: &ContainerPlan,
        wanted: Wanted,
    ) -> io::Result<Self> {
        let mut descriptors = descriptors.into_iter();
        let stdin = if with_stdin { descriptors.next() } else { None };
        let stdin = stdin.map(|stdin| input(stdin, plan.process.tty)).transpose()?;
        let (reads, left) = mpsc::channel(1);
        let mut take = |wanted: bool| -> io::Result<Option<Output>> {
            // One that is not wanted is closed at once, and the shim forgets it.
            let Some(pipe) = descriptors.next().filter(|_| wanted) else { return Ok(None) };
            Ok(Some(Box::new(Reading { inner: reader(pipe)?, _reads: reads.clone() })))
        };
        let (stdout, stderr) = (take(wanted.stdout)?, take(wanted.stderr)?);
        let left = (stdout.is_some() || stderr.is_some()).then_some(left);
        Ok(Self { stdin, stdout, stderr, left })
    }
}

fn input(stdin: OwnedFd, is_terminal: bool) -> io::Result<Input> {
    if is_terminal { Ok(Box::new(Terminal::write_only(stdin)?)) } else { writer(stdin) }
}

async fn all_left(left: &mut Option<mpsc::Receiver<()>>) {
    match left {
        // Nothing is ever sent: it ends when the last reader goes.
        Some(left) => drop(left.recv().await),
        None => std::future::pending().await,
    }
}

/// Somebody reads for as long as it is there.
struct Reading {
    inner: Output,
    _reads: mpsc::Sender<()>,
}

impl AsyncRead for Reading {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

/// Returns when the attempt has ended, with all that it wrote in its log and its pipes.
pub(super) async fn ended(mut client: Client, attempt: Attempt) -> Result<(), Error> {
    let mut after = None;
    loop {
        let state = client.state(after).await?;
        let ours = state.containers.iter().find(|container| container.attempt == attempt);
        if ours.is_none_or(|container| matches!(container.phase, Phase::Exited(_))) {
            return Ok(());
        }
        after = Some(state.revision);
    }
}

/// On a connection of its own, because the other one waits for the end.
async fn resize(
    directory: Directory,
    attempt: Attempt,
    mut sizes: watch::Receiver<Size>,
) -> std::convert::Infallible {
    while sizes.changed().await.is_ok() {
        let Size { columns, rows } = *sizes.borrow_and_update();
        let request = Request::Resize { attempt: attempt.clone(), rows, columns };
        let resized = async { Client::connect(&directory).await?.done(request).await }.await;
        if let Err(error) = resized {
            tracing::debug!(%error, "a terminal keeps its size");
        }
    }
    std::future::pending().await
}
