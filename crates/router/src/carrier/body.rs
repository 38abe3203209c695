//! Bodies on their way through: counted going in, and holding their client's place going out. Neither is gathered: what
//! arrives goes on, and whoever is slow slows the other down.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::forwarding;
use crate::stay::Stay;

type Broken = Box<dyn Error + Send + Sync>;

/// The body of a request, up to a size.
pub(crate) struct Metered {
    inner: Incoming,
    left: u64,
}

#[derive(Debug)]
pub(crate) struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the body of the request is too large")
    }
}

impl Error for TooLarge {}

impl Metered {
    pub(crate) fn new(inner: Incoming, most: Option<u64>) -> Self {
        Self { inner, left: most.unwrap_or(u64::MAX) }
    }
}

impl Body for Metered {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let frame = match Pin::new(&mut self.inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => cleaned(frame),
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => return Poll::Pending,
        };
        let size = frame.data_ref().map_or(0, |data| data.remaining() as u64);
        match self.left.checked_sub(size) {
            Some(left) => self.left = left,
            None => return Poll::Ready(Some(Err(TooLarge.into()))),
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// What comes after a body says no more than what came before it may.
fn cleaned(mut frame: Frame<Bytes>) -> Frame<Bytes> {
    if let Some(trailers) = frame.trailers_mut() {
        forwarding::clean_trailers(trailers);
    }
    frame
}

/// The body of an answer: a Sandbox's, or the router's own.
pub(crate) enum Answer {
    Carried { inner: Incoming, _stay: Stay },
    Own(Full<Bytes>),
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut *self {
            Self::Carried { inner, .. } => {
                Pin::new(inner).poll_frame(context).map(|frame| frame.map(|frame| frame.map_err(Into::into)))
            }
            Self::Own(body) => {
                Pin::new(body).poll_frame(context).map(|frame| frame.map(|frame| frame.map_err(Into::into)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Carried { inner, .. } => inner.is_end_stream(),
            Self::Own(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Carried { inner, .. } => inner.size_hint(),
            Self::Own(body) => body.size_hint(),
        }
    }
}
