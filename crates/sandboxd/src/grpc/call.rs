//! The two forms of call that there are: one message for one, and one for many.

use std::time::Duration;

use http::Request;
use http::header::HeaderMap;
use hyper::body::Incoming;
use prost::Message;

use super::frame::{Decoder, encode, timeout};
use super::{begun, trailers};
use crate::failure::{Code, Failure};
use crate::http::answer;
use crate::http::payload::{Feed, Payload, Reply};
use crate::server::Server;

/// A call that ended before it said anything: its status is in the head.
pub(super) fn refusal(failure: &Failure) -> Reply {
    let mut reply = begun(Payload::empty());
    reply.headers_mut().extend(trailers(Some(failure)));
    reply
}

/// The one message of a call, and how long its client will wait.
pub(super) async fn question<M: Message + Default>(
    server: &Server,
    request: Request<Incoming>,
) -> Result<(M, Option<Duration>), Failure> {
    let patience = patience(request.headers())?;
    let mut decoder = Decoder::new(server.settings.limits.request_bytes);
    decoder.push(&server.small_body(request).await?);
    let message = decoder.next()?.filter(|_| decoder.is_empty());
    message.map(|message| (message, patience)).ok_or_else(|| Failure::invalid("a call has one message"))
}

fn patience(headers: &HeaderMap) -> Result<Option<Duration>, Failure> {
    let Some(header) = headers.get("grpc-timeout") else { return Ok(None) };
    let patience = header.to_str().ok().and_then(timeout);
    patience.map(Some).ok_or_else(|| Failure::invalid("grpc-timeout is not a time"))
}

/// Does it in the time that the client waits.
pub(super) async fn in_time<T>(
    patience: Option<Duration>,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let Some(patience) = patience else { return work.await };
    let done = tokio::time::timeout(patience, work).await;
    done.unwrap_or_else(|_| Err(late()))
}

pub(super) fn late() -> Failure {
    Failure::new(Code::DeadlineExceeded, "the deadline of the call is over")
}

/// One message, and that all is well.
pub(super) async fn answered(message: &impl Message) -> Reply {
    let (feed, payload) = Payload::fed();
    let reply = begun(payload);
    // There is room for both, and nobody has gone yet.
    let _ = feed.send(encode(message)).await;
    let _ = feed.trailers(trailers(None)).await;
    reply
}

/// Where the messages of a call go that has many.
pub(super) fn stream() -> (Feed, Reply) {
    let (feed, payload) = Payload::fed();
    (feed, answer::typed(http::StatusCode::OK, "application/grpc", payload))
}
