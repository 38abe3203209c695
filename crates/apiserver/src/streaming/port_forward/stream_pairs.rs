//! The portforward.k8s.io protocol: a client opens an error stream and a data stream with the same request id for each
//! connection that it forwards.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::super::pods::PodStreams;
use super::super::spdy::{Headers, Offer, Session, Stream, StreamId};
use super::Target;
use super::relay::{Closing, relay};

/// How long one stream of a pair may wait for the other.
const LONELY: Duration = Duration::from_secs(30);

/// Forwards until the client leaves.
pub(super) async fn serve<P: PodStreams>(target: Arc<Target<P>>, mut session: Session) {
    let mut halves = Halves::default();
    let mut forwards = JoinSet::new();
    loop {
        tokio::select! {
            offer = session.next() => match offer {
                None => break,
                Some(offer) => {
                    if let Some(pair) = halves.join(offer).await {
                        forwards.spawn(forward(Arc::clone(&target), pair));
                    }
                }
            },
            Some(_) = forwards.join_next() => {}
            () = halves.expired() => halves.drop_expired(),
        }
    }
    while forwards.join_next().await.is_some() {}
    session.finish().await;
}

/// Only a connection that did not come about is an error of the protocol's. One that breaks ends as it would without
/// us in between, because clients give up all of their connections when they read an error.
async fn forward<P: PodStreams>(target: Arc<Target<P>>, mut pair: Pair) {
    if let Some(connection) = target.connect(pair.port, &mut pair.error).await {
        relay(&mut pair.data, connection, Closing::Half).await;
    }
    // Fails only when the client has left already.
    let _ = pair.data.shutdown().await;
    let _ = pair.error.shutdown().await;
}

/// The streams of one connection.
struct Pair {
    port: u16,
    data: Stream,
    error: Stream,
}

/// Streams that wait for their other half.
#[derive(Default)]
struct Halves(HashMap<String, Half>);

struct Half {
    kind: Kind,
    stream: Stream,
    since: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Data,
    Error,
}

/// What the headers of a stream say.
#[derive(Debug, PartialEq, Eq)]
struct Purpose {
    kind: Kind,
    port: u16,
    request: String,
}

impl Halves {
    /// A pair, if the offered stream completes one. What makes no sense is refused, as is a second stream of a kind.
    async fn join(&mut self, offer: Offer) -> Option<Pair> {
        let purpose = Purpose::parse(&offer.headers, offer.id)?;
        if self.0.get(&purpose.request).is_some_and(|half| half.kind == purpose.kind) {
            return None;
        }
        let stream = offer.accept().await.ok()?;
        if let Some(half) = self.0.remove(&purpose.request) {
            return Some(pair(purpose, stream, half.stream));
        }
        self.0.insert(purpose.request, Half { kind: purpose.kind, stream, since: Instant::now() });
        None
    }

    /// Ends when a half has waited too long.
    async fn expired(&self) {
        match self.0.values().map(|half| half.since).min() {
            Some(oldest) => sleep_until(oldest + LONELY).await,
            None => std::future::pending().await,
        }
    }

    fn drop_expired(&mut self) {
        let now = Instant::now();
        self.0.retain(|_, half| half.since + LONELY > now);
    }
}

fn pair(purpose: Purpose, second: Stream, first: Stream) -> Pair {
    match purpose.kind {
        Kind::Data => Pair { port: purpose.port, data: second, error: first },
        Kind::Error => Pair { port: purpose.port, data: first, error: second },
    }
}

impl Purpose {
    fn parse(headers: &Headers, id: StreamId) -> Option<Self> {
        let kind = match headers.get("streamtype")? {
            "data" => Kind::Data,
            "error" => Kind::Error,
            _ => return None,
        };
        let port = headers.get("port")?.parse().ok().filter(|port| *port != 0)?;
        let request = headers.get("requestid").map_or_else(|| implied(kind, id), str::to_owned);
        Some(Self { kind, port, request })
    }
}

/// Clients older than request ids open the error stream first and the data stream right after it.
fn implied(kind: Kind, id: StreamId) -> String {
    match kind {
        Kind::Error => id.number().to_string(),
        Kind::Data => id.number().saturating_sub(2).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn purpose(headers: &[(&str, &str)]) -> Option<Purpose> {
        Purpose::parse(&headers.iter().copied().collect(), StreamId::new(7).unwrap())
    }

    #[test]
    fn streams_say_what_they_are_for() {
        let headers = [("streamType", "data"), ("port", "80"), ("requestID", "3")];
        assert_eq!(purpose(&headers), Some(Purpose { kind: Kind::Data, port: 80, request: "3".to_owned() }));
    }

    #[test]
    fn streams_without_a_request_belong_to_their_neighbour() {
        assert_eq!(purpose(&[("streamtype", "data"), ("port", "80")]).unwrap().request, "5");
        assert_eq!(purpose(&[("streamtype", "error"), ("port", "80")]).unwrap().request, "7");
    }

    #[test]
    fn streams_without_a_kind_or_a_port_are_refused() {
        for headers in [[("streamtype", "stdin"), ("port", "80")], [("streamtype", "data"), ("port", "0")]] {
            assert_eq!(purpose(&headers), None);
        }
        assert_eq!(purpose(&[("port", "80")]), None);
    }
}
