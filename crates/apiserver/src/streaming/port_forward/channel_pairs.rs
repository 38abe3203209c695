//! The older form over a WebSocket, which Python's client uses: the request names the ports, and each has a data channel
//! and an error channel from the start. A channel cannot be finished, so a connection ends when the Pod's side ends.

use std::sync::Arc;

use axum::extract::ws::WebSocket;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use super::super::channels::{Channel, Channels, HalfClose};
use super::super::multiplex::Patience;
use super::super::pods::PodStreams;
use super::super::query::Query;
use super::super::refusal::Refusal;
use super::Target;
use super::relay::{Closing, relay};

/// Two channels each, numbered in a byte.
const MOST: usize = 127;

pub(super) fn ports(query: &Query) -> Result<Vec<u16>, Refusal> {
    let items = query.all("ports").flat_map(|ports| ports.split(','));
    let ports = items.map(port).collect::<Result<Vec<_>, _>>()?;
    match ports.len() {
        0 => Err(Refusal::Bad("query parameter \"ports\" is required".to_owned())),
        1..=MOST => Ok(ports),
        _ => Err(Refusal::Bad(format!("more than {MOST} ports"))),
    }
}

fn port(text: &str) -> Result<u16, Refusal> {
    let port = text.parse().ok().filter(|port| *port != 0);
    port.ok_or_else(|| Refusal::Bad(format!("unable to parse {text:?} as a port")))
}

pub(super) async fn serve<P: PodStreams>(target: Arc<Target<P>>, socket: WebSocket, ports: Vec<u16>) {
    let count = u8::try_from(ports.len() * 2).expect("their number was checked");
    let (session, channels) = Channels::serve(socket, count, HalfClose::Never, Patience::SHARED);
    let mut channels = channels.into_iter();
    let mut forwards = JoinSet::new();
    for port in ports {
        if let (Some(data), Some(error)) = (channels.next(), channels.next()) {
            forwards.spawn(forward(Arc::clone(&target), port, data, error));
        }
    }
    while forwards.join_next().await.is_some() {}
    session.finish().await;
}

async fn forward<P: PodStreams>(target: Arc<Target<P>>, port: u16, mut data: Channel, mut error: Channel) {
    if announce(port, &mut data, &mut error).await.is_err() {
        return;
    }
    let Some(connection) = target.connect(port, &mut error).await else { return };
    relay(data, connection, Closing::Whole).await;
}

/// The first message of either channel is the number of its port, the low byte first.
async fn announce(port: u16, data: &mut Channel, error: &mut Channel) -> std::io::Result<()> {
    data.write_all(&port.to_le_bytes()).await?;
    error.write_all(&port.to_le_bytes()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<Vec<u16>, Refusal> {
        ports(&Query::of(&format!("/portforward?{query}").parse().unwrap()))
    }

    #[test]
    fn ports_may_be_repeated_or_listed() {
        assert_eq!(parse("ports=80,81&ports=82"), Ok(vec![80, 81, 82]));
    }

    #[test]
    fn what_is_no_port_is_refused() {
        for query in ["", "ports=", "ports=0", "ports=65536", "ports=http"] {
            assert!(matches!(parse(query), Err(Refusal::Bad(_))), "{query}");
        }
    }
}
