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

pub(super) struct Request {
    pub write: Write,
    pub answer: oneshot::Sender<Result<Written, WriteError>>,
}

type Answer = (oneshot::Sender<Result<Written, WriteError>>, Result<Written, Rejection>);

/// Ends when the last [`super::Store`] is gone and everything it asked for is done.
pub(super) fn spawn(
    mut disk: Disk,
    view: Arc<View>,
    mut requests: mpsc::Receiver<Request>,
) -> io::Result<()> {
    let work = move || {
        let mut waiting = Vec::with_capacity(BATCH);
        while requests.blocking_recv_many(&mut waiting, BATCH) > 0 {
            commit(&mut disk, &view, waiting.drain(..));
        }
    };
    thread::Builder::new().name("store-writer".to_owned()).spawn(work).map(drop)
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
