//! The one thread that writes: takes what waits as one batch, commits it with one fsync, shows it, answers.

use std::io;
use std::sync::Arc;
use std::thread;

use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use super::disk::{CommitError, Disk};
use super::index::Change;
use super::plan::{Plan, Rejection};
use super::view::View;
use super::{Write, Written};

/// Enough to share an fsync among many, few enough that nobody waits long for the whole batch.
const BATCH: usize = 256;

/// Writes that wait for the disk; callers beyond that wait for room.
const QUEUE: usize = 1024;

/// Why a write was not made.
#[derive(Debug, Error)]
pub enum WriteError {
    #[error(transparent)]
    Rejected(#[from] Rejection),
    #[error("the store could not write")]
    Disk(#[source] Arc<CommitError>),
    #[error("the store is closed")]
    Closed,
}

struct Request {
    write: Write,
    answer: oneshot::Sender<Result<Written, WriteError>>,
}

/// The way to the thread, and its owner: when this is gone, everything that was asked for is done and the file is closed.
pub(super) struct Writer {
    /// None only while this is dropped.
    queue: Option<mpsc::Sender<Request>>,
    thread: Option<thread::JoinHandle<()>>,
}

type Answer = (oneshot::Sender<Result<Written, WriteError>>, Result<Written, Rejection>);

impl Writer {
    pub(super) fn start(mut disk: Disk, view: Arc<View>) -> io::Result<Self> {
        let (queue, mut requests) = mpsc::channel(QUEUE);
        let work = move || {
            let mut waiting = Vec::with_capacity(BATCH);
            while requests.blocking_recv_many(&mut waiting, BATCH) > 0 {
                commit(&mut disk, &view, waiting.drain(..));
            }
        };
        let thread = thread::Builder::new().name("store-writer".to_owned()).spawn(work)?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.queue.as_ref().is_none_or(mpsc::Sender::is_closed)
    }

    pub(super) async fn write(&self, write: Write) -> Result<Written, WriteError> {
        let (answer, answered) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or(WriteError::Closed)?;
        queue.send(Request { write, answer }).await.map_err(|_| WriteError::Closed)?;
        answered.await.map_err(|_| WriteError::Closed)?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        // One that broke has said so, and has closed the file too.
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

fn commit(disk: &mut Disk, view: &View, requests: impl Iterator<Item = Request>) {
    let (changes, answers) = decide(view, requests);
    let written =
        if changes.is_empty() { Ok(()) } else { disk.commit(&changes, &view.index()).map_err(Arc::new) };
    if !changes.is_empty() {
        view.note_failing(written.is_err());
    }
    if written.is_ok() {
        view.show(changes);
    }
    for (answer, decided) in answers {
        let outcome = decided.map_err(WriteError::from);
        let outcome = outcome.and_then(|made| match &written {
            Ok(()) => Ok(made),
            Err(error) => Err(WriteError::Disk(Arc::clone(error))),
        });
        // A caller that stopped waiting finds out by reading.
        let _ = answer.send(outcome);
    }
}

fn decide(view: &View, requests: impl Iterator<Item = Request>) -> (Vec<Change>, Vec<Answer>) {
    let index = view.index();
    let mut plan = Plan::new(&index);
    let answers = requests.map(|request| (request.answer, plan.add(request.write))).collect();
    (plan.changes, answers)
}
