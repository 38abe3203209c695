//! The beginning of a WebSocket (RFC 6455), and the two halves that it leaves.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CONNECTION, HeaderMap, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use http::{Request, StatusCode, Version};
use hyper::body::Incoming;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio::io::{ReadHalf, WriteHalf};

use super::answer;
use super::payload::Reply;
use crate::failure::Failure;

/// What the protocol adds to a client's key.
const MAGIC: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

pub(crate) type Input = ReadHalf<TokioIo<Upgraded>>;
pub(crate) type Output = WriteHalf<TokioIo<Upgraded>>;

/// The answer that makes a WebSocket of the connection, and what it becomes.
pub(crate) fn accept(request: &mut Request<Incoming>) -> Result<(Reply, OnUpgrade), Failure> {
    let headers = request.headers();
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(|_| is_asked_for(headers));
    let Some(key) = key.filter(|_| request.version() == Version::HTTP_11) else {
        return Err(Failure::invalid("this is for WebSockets: ask by an upgrade of HTTP/1.1, version 13"));
    };
    let mut reply = answer::empty(StatusCode::SWITCHING_PROTOCOLS);
    reply.headers_mut().insert(UPGRADE, HeaderValue::from_static("websocket"));
    reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    let accepted = HeaderValue::from_str(&accepted(key.as_bytes())).expect("base64 is plain text");
    reply.headers_mut().insert(SEC_WEBSOCKET_ACCEPT, accepted);
    Ok((reply, hyper::upgrade::on(request)))
}

pub(crate) async fn halves(upgrade: OnUpgrade) -> Option<(Input, Output)> {
    upgrade.await.ok().map(|stream| tokio::io::split(TokioIo::new(stream)))
}

fn is_asked_for(headers: &HeaderMap) -> bool {
    let has = |name, word: &str| {
        headers
            .get_all(name)
            .iter()
            .filter_map(|value: &HeaderValue| value.to_str().ok())
            .any(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word)))
    };
    has(UPGRADE, "websocket") && has(CONNECTION, "upgrade") && has(SEC_WEBSOCKET_VERSION, "13")
}

fn accepted(key: &[u8]) -> String {
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &[key, MAGIC.as_bytes()].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_answered_as_the_standard_shows_it() {
        assert_eq!(accepted(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
