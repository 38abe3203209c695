//! The bytes of one connection. What was read of it already comes first. It is closed as its client can bear: what that still sends
//! is read and thrown away for a while, since closed at once, the client's system would throw our last answer away because of data
//! that nobody read. And it holds a place among all connections for as long as it is there, whatever protocol it goes on in.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep};

/// How long a client is listened to that has had its answer.
const LINGERING: Duration = Duration::from_secs(2);
const DISCARDED: usize = 8 * 1024;

pub(crate) struct Stream {
    begun: Vec<u8>,
    socket: TcpStream,
    /// Our side is closed; until when theirs is read.
    closing: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

impl Stream {
    pub(crate) fn new(begun: Vec<u8>, socket: TcpStream, place: OwnedSemaphorePermit) -> Self {
        Self { begun, socket, closing: None, _place: place }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.begun.is_empty() {
            return Pin::new(&mut self.socket).poll_read(context, buffer);
        }
        let length = self.begun.len().min(buffer.remaining());
        buffer.put_slice(&self.begun[..length]);
        self.begun.drain(..length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { socket, closing, .. } = &mut *self;
        if closing.is_none() {
            ready!(Pin::new(&mut *socket).poll_shutdown(context))?;
        }
        let closing = closing.get_or_insert_with(|| Box::pin(sleep(LINGERING)));
        let mut discarded = [0; DISCARDED];
        while closing.as_mut().poll(context).is_pending() {
            let mut buffer = ReadBuf::new(&mut discarded);
            let read = ready!(Pin::new(&mut *socket).poll_read(context, &mut buffer));
            // Whoever breaks the connection has ended it too.
            if read.is_err() || buffer.filled().is_empty() {
                break;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }
}
