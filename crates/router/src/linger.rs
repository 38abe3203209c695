//! A connection that is closed as its client can bear: what the client still sends is read and thrown away for a while. Closed at
//! once, the client's system would throw the answer away, because of data that nobody read.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How much is thrown away, and for how long.
const MOST: usize = 4 << 20;
const LONGEST: Duration = Duration::from_secs(2);

/// Told when a connection goes on in a protocol of its own, in which either side may end before the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct HandedOver(Arc<AtomicBool>);

impl HandedOver {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_so(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) struct Lingering<S> {
    stream: S,
    handed_over: HandedOver,
    /// From when our side is closed.
    rest: Option<Rest>,
}

struct Rest {
    until: Pin<Box<Sleep>>,
    left: usize,
}

impl<S> Lingering<S> {
    pub(crate) fn new(stream: S, handed_over: HandedOver) -> Self {
        Self { stream, handed_over, rest: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lingering<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lingering<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    /// Without it a body would be copied behind its head before both are written.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, handed_over, rest } = &mut *self;
        if rest.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
        }
        if handed_over.is_so() {
            return Poll::Ready(Ok(()));
        }
        let rest = rest.get_or_insert_with(|| Rest { until: Box::pin(sleep(LONGEST)), left: MOST });
        let mut discarded = [0; 8 * 1024];
        while rest.left > 0 && rest.until.as_mut().poll(context).is_pending() {
            let mut buffer = ReadBuf::new(&mut discarded);
            // Whoever breaks the connection has ended it too.
            if ready!(Pin::new(&mut *stream).poll_read(context, &mut buffer)).is_err() {
                break;
            }
            match buffer.filled().len() {
                0 => break,
                read => rest.left = rest.left.saturating_sub(read),
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let near = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("connects");
        (near, listener.accept().await.expect("accepts").0)
    }

    #[tokio::test]
    async fn an_answer_arrives_though_its_request_was_not_read() {
        let (mut client, server) = pair().await;
        let closing = tokio::spawn(async move {
            let mut server = Lingering::new(server, HandedOver::default());
            server.write_all(b"no").await.expect("sent");
            server.shutdown().await.expect("closed");
        });
        let sent = client.write_all(&vec![7; 2 << 20]).await;
        assert!(sent.is_ok(), "{sent:?}");
        client.shutdown().await.expect("its half ends");
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.expect("not reset");
        assert_eq!(answer, "no");
        closing.await.expect("it ends");
    }

    #[tokio::test]
    async fn head_and_body_are_written_at_once() {
        let (mut client, server) = pair().await;
        let mut server = Lingering::new(server, HandedOver::default());
        assert!(server.is_write_vectored());
        let written = server.write_vectored(&[IoSlice::new(b"head"), IoSlice::new(b"body")]).await;
        assert_eq!(written.expect("written"), 8);
        let mut heard = [0; 8];
        client.read_exact(&mut heard).await.expect("both arrive");
        assert_eq!(&heard, b"headbody");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_does_not_end_is_left_after_a_while() {
        let (_client, server) = tokio::io::duplex(16);
        let mut server = Lingering::new(server, HandedOver::default());
        server.shutdown().await.expect("closed");
    }

    #[tokio::test]
    async fn what_is_handed_over_may_end_on_one_side() {
        let (mut client, server) = tokio::io::duplex(16);
        let handed_over = HandedOver::default();
        handed_over.set();
        let mut server = Lingering::new(server, handed_over);
        client.write_all(b"more").await.expect("room");
        server.shutdown().await.expect("closed");
        let mut heard = [0; 4];
        server.read_exact(&mut heard).await.expect("nothing was thrown away");
        assert_eq!(&heard, b"more");
    }
}
