//! One stream of a session, for those who read and write it. What it writes goes to the session's task through a
//! bounded channel; a full channel makes the writer wait.

use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio_util::sync::PollSender;

use super::inbox::Inbox;

/// How many pieces of all streams may wait for the connection, and how long a piece may be: half a megabyte in all.
const WAITING: usize = 16;
const LONGEST: usize = 32 * 1024;

/// What a stream asks its session to send.
#[derive(Debug)]
pub(crate) struct Outgoing<K> {
    pub(crate) stream: K,
    pub(crate) item: Item,
}

#[derive(Debug)]
pub(crate) enum Item {
    /// The stream is accepted.
    Accept,
    Data(Bytes),
    Finish,
}

/// A stream was dropped after it sent so many items. The session answers to that when it has sent them all.
#[derive(Debug)]
pub(crate) struct Gone<K> {
    pub(crate) stream: K,
    pub(crate) sent: u64,
}

/// How streams reach their session.
pub(crate) struct Ports<K> {
    outgoing: PollSender<Outgoing<K>>,
    /// Holds one message per stream at most, so its length is bounded by the number of streams.
    gone: mpsc::UnboundedSender<Gone<K>>,
}

impl<K: Copy + Send + 'static> Ports<K> {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Outgoing<K>>, mpsc::UnboundedReceiver<Gone<K>>) {
        let (outgoing, items) = mpsc::channel(WAITING);
        let (gone, dropped) = mpsc::unbounded_channel();
        (Self { outgoing: PollSender::new(outgoing), gone }, items, dropped)
    }

    pub(crate) fn stream(&self, id: K, inbox: Arc<Inbox>) -> Stream<K> {
        let ports = Self { outgoing: self.outgoing.clone(), gone: self.gone.clone() };
        Stream { id, inbox, ports, sent: 0, finished: false }
    }
}

/// Reads end at the peer's half-close, shutting down half-closes, and dropping resets what is still open.
pub(crate) struct Stream<K: Copy + Send + 'static> {
    id: K,
    inbox: Arc<Inbox>,
    ports: Ports<K>,
    sent: u64,
    finished: bool,
}

impl<K: Copy + Send + 'static> Stream<K> {
    pub(crate) async fn accept(&mut self) -> Result<()> {
        std::future::poll_fn(|context| self.poll_item(context, || Item::Accept)).await
    }

    fn poll_item(&mut self, context: &mut Context<'_>, item: impl FnOnce() -> Item) -> Poll<Result<()>> {
        let broken = |_| Error::from(ErrorKind::BrokenPipe);
        if self.inbox.is_reset() {
            return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
        }
        ready!(self.ports.outgoing.poll_reserve(context)).map_err(broken)?;
        self.ports.outgoing.send_item(Outgoing { stream: self.id, item: item() }).map_err(broken)?;
        self.sent += 1;
        Poll::Ready(Ok(()))
    }
}

impl<K: Copy + Send + Unpin + 'static> AsyncRead for Stream<K> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        self.inbox.poll_read(context, buffer)
    }
}

impl<K: Copy + Send + Unpin + 'static> AsyncWrite for Stream<K> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        if self.finished {
            return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
        }
        let piece = &bytes[..bytes.len().min(LONGEST)];
        ready!(self.poll_item(context, || Item::Data(Bytes::copy_from_slice(piece))))?;
        Poll::Ready(Ok(piece.len()))
    }

    /// The session sends what it is given as soon as it can.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if !self.finished {
            ready!(self.poll_item(context, || Item::Finish))?;
            self.finished = true;
        }
        Poll::Ready(Ok(()))
    }
}

impl<K: Copy + Send + 'static> Drop for Stream<K> {
    fn drop(&mut self) {
        self.inbox.reset();
        // Fails only when the session is gone, and with it the stream.
        let _ = self.ports.gone.send(Gone { stream: self.id, sent: self.sent });
    }
}
