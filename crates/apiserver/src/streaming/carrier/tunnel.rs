//! A WebSocket as a plain connection: what is written goes out in binary messages, and where one message ends and the
//! next begins means nothing.

use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use bytes::{Buf, Bytes};
use futures::{Sink, Stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(crate) struct Tunnel {
    socket: WebSocket,
    unread: Bytes,
    closing: bool,
}

impl Tunnel {
    pub(crate) fn new(socket: WebSocket) -> Self {
        Self { socket, unread: Bytes::new(), closing: false }
    }

    fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        message: impl FnOnce() -> Message,
    ) -> Poll<Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_ready(context)).map_err(Error::other)?;
        Poll::Ready(Pin::new(&mut self.socket).start_send(message()).map_err(Error::other))
    }
}

impl AsyncRead for Tunnel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        while self.unread.is_empty() {
            match ready!(Pin::new(&mut self.socket).poll_next(context)) {
                None => return Poll::Ready(Ok(())),
                Some(Ok(Message::Close(_))) => {
                    // The answer is ready; shutting down sends it.
                    self.closing = true;
                    return Poll::Ready(Ok(()));
                }
                Some(Ok(Message::Binary(bytes))) => self.unread = bytes,
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Text(_))) => return Poll::Ready(Err(ErrorKind::InvalidData.into())),
                Some(Err(error)) => return Poll::Ready(Err(Error::other(error))),
            }
        }
        let taken = self.unread.len().min(buffer.remaining());
        buffer.put_slice(&self.unread[..taken]);
        self.unread.advance(taken);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        ready!(self.poll_send(context, || Message::Binary(Bytes::copy_from_slice(bytes))))?;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context).map_err(Error::other)
    }

    /// Clients take a closed connection without the code for a normal end as an error.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if !self.closing {
            let farewell = || CloseFrame { code: close_code::NORMAL, reason: "".into() };
            ready!(self.poll_send(context, || Message::Close(Some(farewell()))))?;
            self.closing = true;
        }
        self.poll_flush(context)
    }
}
