//! The master of a terminal, to be read, written and resized at once.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustix::io::Errno;
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

use super::session::Size;
use crate::sys::readiness;

/// The process is hung up when the last copy goes.
#[derive(Clone)]
pub(super) struct Terminal(Arc<AsyncFd<OwnedFd>>);

impl Terminal {
    pub(super) fn new(master: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&master, true)?;
        Ok(Self(Arc::new(readiness::watch(master, Interest::READABLE | Interest::WRITABLE)?)))
    }

    /// Of a terminal that somebody else reads.
    pub(super) fn write_only(master: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&master, true)?;
        Ok(Self(Arc::new(readiness::watch(master, Interest::WRITABLE)?)))
    }

    pub(super) fn resize(&self, size: Size) -> io::Result<()> {
        let size = Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(self.0.get_ref(), size)?)
    }
}

impl AsyncRead for Terminal {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.0.poll_read_ready(context))?;
            let read = |inner: &AsyncFd<OwnedFd>| {
                match rustix::io::read(inner.get_ref(), buffer.initialize_unfilled()) {
                    // That is how a terminal says that nobody has it open any more.
                    Err(Errno::IO) => Ok(0),
                    other => other.map_err(io::Error::from),
                }
            };
            if let Ok(read) = guard.try_io(read) {
                buffer.advance(read?);
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl AsyncWrite for Terminal {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.0.poll_write_ready(context))?;
            let write =
                |inner: &AsyncFd<OwnedFd>| rustix::io::write(inner.get_ref(), bytes).map_err(io::Error::from);
            if let Ok(written) = guard.try_io(write) {
                return Poll::Ready(written);
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// A terminal has no end of input; whoever means that types it.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
