//! The body of an answer: all at once, or as it comes from a task. Such a task waits when the client does, and learns by
//! [`Feed::closed`] that it has gone.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

/// How many pieces wait for a client.
const WAITING: usize = 2;

pub(crate) struct Payload(Kind);

enum Kind {
    Whole(Option<Bytes>),
    Fed(mpsc::Receiver<io::Result<Frame<Bytes>>>),
}

pub(crate) type Reply = http::Response<Payload>;
/// What a service of hyper gives.
pub(crate) type Served = Result<Reply, Infallible>;

/// Where the pieces of a body go.
#[derive(Clone)]
pub(crate) struct Feed(mpsc::Sender<io::Result<Frame<Bytes>>>);

/// The client is no longer there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gone;

impl Payload {
    pub(crate) fn empty() -> Self {
        Self(Kind::Whole(None))
    }

    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self(Kind::Whole((!bytes.is_empty()).then_some(bytes)))
    }

    pub(crate) fn fed() -> (Feed, Self) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Feed(sender), Self(Kind::Fed(receiver)))
    }
}

impl Feed {
    pub(crate) async fn send(&self, bytes: impl Into<Bytes>) -> Result<(), Gone> {
        self.0.send(Ok(Frame::data(bytes.into()))).await.map_err(|_| Gone)
    }

    pub(crate) async fn trailers(&self, trailers: HeaderMap) -> Result<(), Gone> {
        self.0.send(Ok(Frame::trailers(trailers))).await.map_err(|_| Gone)
    }

    /// Breaks the answer off, so that nobody takes it for whole.
    pub(crate) async fn fail(&self, error: io::Error) {
        // If the client is gone there is nobody to tell.
        let _ = self.0.send(Err(error)).await;
    }

    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }

    /// For threads that may wait.
    pub(crate) fn blocking_send(&self, bytes: Vec<u8>) -> io::Result<()> {
        self.0.blocking_send(Ok(Frame::data(bytes.into()))).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut self.0 {
            Kind::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Kind::Fed(receiver) => receiver.poll_recv(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Kind::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Kind::Fed(_) => SizeHint::default(),
        }
    }
}
