//! Connects to Sandboxes. Only connecting is tried again: once a request may have reached the Sandbox, it is not repeated.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::Service;

use crate::alive;
use crate::metrics::Metrics;

/// How connecting is tried.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) patience: Duration,
    pub(crate) again: u32,
    pub(crate) after: Duration,
    pub(crate) metrics: Arc<Metrics>,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            let stream = connector.connect(address(&target)?).await?;
            stream.set_nodelay(true)?;
            alive::watch(&stream)?;
            Ok(TokioIo::new(stream))
        })
    }
}

impl Connector {
    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let mut pause = self.after;
        for _ in 0..self.again {
            match self.attempt(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => {
                    tracing::debug!(%error, %address, "a Sandbox could not be connected to: again soon");
                }
            }
            self.metrics.redials.inc();
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        self.attempt(address).await
    }

    async fn attempt(&self, address: SocketAddr) -> io::Result<TcpStream> {
        match tokio::time::timeout(self.patience, TcpStream::connect(address)).await {
            Ok(connected) => connected,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// Targets are addresses: names are never looked up on behalf of a client.
fn address(target: &Uri) -> io::Result<SocketAddr> {
    let authority = target.authority().map(http::uri::Authority::as_str);
    authority.and_then(|authority| authority.parse().ok()).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}
