//! Ports of a Sandbox: connections to them, and listeners here that lead to them.

use asb_types::v1beta1::Sandbox;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::Portforwarder;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, copy_bidirectional};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::client::Client;
use crate::error::Error;

/// A connection to a port inside a Sandbox. It ends with this value.
pub struct Tunnel {
    stream: DuplexStream,
    port: u16,
    forwarder: Portforwarder,
}

impl Tunnel {
    /// Joins a connection of here with it, until both sides have ended.
    pub async fn join(mut self, mut near: impl AsyncRead + AsyncWrite + Unpin) -> Result<(), Error> {
        let broken = |source| Error::Transfer { doing: format!("port {}", self.port), source };
        let refused = self.forwarder.take_error(self.port);
        let joined = copy_bidirectional(&mut near, &mut self.stream).await;
        drop(self.stream);
        let refused = match refused {
            // The server speaks of a failure before it closes.
            Some(refused) => futures::FutureExt::now_or_never(refused).flatten(),
            None => None,
        };
        if let Some(message) = refused {
            return Err(broken(std::io::Error::other(message)));
        }
        joined.map(drop).map_err(broken)?;
        // How the connection was closed tells nothing that the bytes did not.
        let _ = self.forwarder.join().await;
        Ok(())
    }
}

impl Client {
    /// Connects to a port inside a Sandbox that runs.
    pub async fn connect_port(&self, sandbox: &Sandbox, port: u16) -> Result<Tunnel, Error> {
        let (pod, _) = self.running(sandbox, None).await?;
        let pods = self.api::<Pod>(&sandbox.namespace().unwrap_or_default());
        let forwarder = pods.portforward(&pod.name_any(), &[port]).await;
        let mut forwarder = forwarder.map_err(|cause| Error::api(format!("reach port {port}"), cause))?;
        let stream = forwarder.take_stream(port).ok_or(Error::Lost)?;
        Ok(Tunnel { stream, port, forwarder })
    }

    /// Leads every connection that a listener takes to a port inside a Sandbox. A connection that fails is told of, and
    /// the others go on.
    ///
    /// ```no_run
    /// # async fn example(client: asb_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let sandbox = client.find_sandbox(&"box".parse()?).await?;
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    /// client.forward(&sandbox, listener, 80, |error| drop(error)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn forward(
        &self,
        sandbox: &Sandbox,
        listener: TcpListener,
        port: u16,
        mut tell: impl FnMut(Error),
    ) -> Result<(), Error> {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                taken = listener.accept() => {
                    let taken = taken.map_err(|source| {
                        Error::Transfer { doing: "cannot take a connection".to_owned(), source }
                    })?;
                    let (client, sandbox) = (self.clone(), sandbox.clone());
                    connections.spawn(async move {
                        client.connect_port(&sandbox, port).await?.join(taken.0).await
                    });
                }
                Some(ended) = connections.join_next() => {
                    if let Ok(Err(error)) = ended {
                        tell(error);
                    }
                }
            }
        }
    }
}
