//! The serving side of a SPDY connection: offers the streams that the peer opens, and carries their bytes. One task
//! owns the connection and everything known about its streams; dropping the session ends the task.

mod engine;
mod streams;

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::super::multiplex::Patience;
use super::{Headers, Stream, StreamId, frame};
use engine::Engine;

pub(crate) struct Session {
    offers: mpsc::Receiver<Offer>,
    finish: CancellationToken,
    task: AbortOnDropHandle<()>,
}

/// A stream that the peer would like to open. Dropping it refuses it.
pub(crate) struct Offer {
    pub(crate) id: StreamId,
    pub(crate) headers: Headers,
    stream: Stream,
}

/// Why a session ended before its time.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("understanding the peer")]
    Frame(#[from] frame::Error),
    #[error("reaching the peer")]
    Connection(#[from] io::Error),
}

impl Session {
    pub(crate) fn serve<C>(carrier: C, patience: Patience) -> Self
    where
        C: AsyncRead + AsyncWrite + Send + 'static,
    {
        let (sender, offers) = mpsc::channel(streams::MOST);
        let finish = CancellationToken::new();
        let task = tokio::spawn(Engine::run(carrier, patience, sender, finish.clone()));
        Self { offers, finish, task: AbortOnDropHandle::new(task) }
    }

    /// The next stream that the peer opens; nothing when it will open no more.
    pub(crate) async fn next(&mut self) -> Option<Offer> {
        self.offers.recv().await
    }

    /// Sends what the streams wrote until now, says good-bye and waits a moment for the peer to leave first, so that
    /// no bytes on their way to it are lost.
    pub(crate) async fn finish(self) {
        self.finish.cancel();
        // The task ends in an error only when it panicked, which the runtime has reported.
        let _ = self.task.await;
    }
}

impl Offer {
    pub(crate) async fn accept(mut self) -> io::Result<Stream> {
        self.stream.accept().await?;
        Ok(self.stream)
    }
}

#[cfg(test)]
mod tests;
