//! Connections to ports of Pods, as from inside: what listens on the Pod's loopback alone can be reached too.

use std::io;

use tokio::net::TcpStream;

use super::Streams;
use super::error::Error;
use super::place::{is_scheduled, name};
use crate::network;
use crate::shim::client::Client;

impl Streams {
    pub async fn port_forward(&self, namespace: &str, pod: &str, port: u16) -> Result<TcpStream, Error> {
        let pod = self.pod(namespace, pod)?;
        if !is_scheduled(&pod) {
            return Err(Error::NotScheduled(name(&pod)));
        }
        let not_running = |_| Error::PodNotRunning(name(&pod));
        let mut client = Client::connect(&self.directory(&pod)).await.map_err(not_running)?;
        let own = client.network().await?;
        let dial = move || match own {
            Some(namespace) => network::connect(namespace, port),
            None => network::connect_here(port),
        };
        let failed = |error: io::Error| Error::Step("connect to a port", error);
        let stream =
            tokio::task::spawn_blocking(dial).await.map_err(|error| failed(io::Error::other(error)))?;
        let stream = stream.map_err(|reason| Error::Connect { port, reason })?;
        stream.set_nonblocking(true).map_err(failed)?;
        TcpStream::from_std(stream).map_err(failed)
    }
}
