//! How a request becomes a connection for streams: by a WebSocket, or by an upgrade to SPDY/3.1.

mod tunnel;

use axum::extract::FromRequestParts;
use axum::extract::ws::WebSocketUpgrade;
use axum::http::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue, UPGRADE};
use axum::http::{Request, StatusCode};
use axum::response::Response;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;

use super::refusal::Refusal;
pub(super) use tunnel::Tunnel;

const SPDY: &str = "SPDY/3.1";
const VERSION: HeaderName = HeaderName::from_static("x-stream-protocol-version");

/// One WebSocket message may take so much memory; Python's client sends up to a megabyte.
const LONGEST_MESSAGE: usize = 4 * 1024 * 1024;

/// The ways a client may ask for streams, by what each side of them can speak.
pub(super) struct Protocols {
    pub(super) websocket: &'static [&'static str],
    pub(super) spdy: &'static [&'static str],
}

/// What was agreed on.
pub(super) enum Agreement {
    WebSocket { upgrade: Box<WebSocketUpgrade>, protocol: &'static str },
    Spdy { upgrade: SpdyUpgrade, protocol: &'static str },
}

/// A connection that will speak SPDY once the client has the answer.
pub(super) struct SpdyUpgrade {
    pending: OnUpgrade,
    pub(super) answer: Response,
}

impl Protocols {
    pub(super) async fn agree<B: Send + 'static>(&self, request: Request<B>) -> Result<Agreement, Refusal> {
        let (mut parts, _) = request.into_parts();
        if names(&parts.headers, &UPGRADE, SPDY) && names(&parts.headers, &CONNECTION, "upgrade") {
            let protocol = self.spdy_protocol(&parts.headers)?;
            let pending = parts.extensions.remove::<OnUpgrade>();
            let pending =
                pending.ok_or_else(|| Refusal::Bad("the connection cannot be upgraded".to_owned()))?;
            let upgrade = SpdyUpgrade { pending, answer: switching(protocol) };
            return Ok(Agreement::Spdy { upgrade, protocol });
        }
        let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &()).await;
        let upgrade = upgrade.map_err(|rejection| {
            Refusal::Bad(format!("an upgrade to a WebSocket or to {SPDY} is required: {rejection}"))
        })?;
        let asked = list(&parts.headers, &HeaderName::from_static("sec-websocket-protocol"));
        let protocol = choose(asked, self.websocket)?;
        let upgrade =
            upgrade.protocols([protocol]).max_message_size(LONGEST_MESSAGE).max_frame_size(LONGEST_MESSAGE);
        Ok(Agreement::WebSocket { upgrade: Box::new(upgrade), protocol })
    }

    fn spdy_protocol(&self, headers: &HeaderMap) -> Result<&'static str, Refusal> {
        let asked = list(headers, &VERSION);
        if asked.is_empty() {
            return Err(Refusal::Bad(format!("unable to upgrade: the header {VERSION} is missing")));
        }
        choose(asked, self.spdy)
    }
}

impl SpdyUpgrade {
    /// The connection, once the answer is on its way.
    pub(super) async fn connect(pending: OnUpgrade) -> Result<TokioIo<Upgraded>, hyper::Error> {
        pending.await.map(TokioIo::new)
    }

    pub(super) fn split(self) -> (OnUpgrade, Response) {
        (self.pending, self.answer)
    }
}

/// The client's favourite among those that we know, as Kubernetes chooses.
fn choose(asked: Vec<String>, known: &'static [&'static str]) -> Result<&'static str, Refusal> {
    let agreed = asked.iter().find_map(|asked| known.iter().find(|known| asked == *known));
    agreed.copied().ok_or(Refusal::Protocol { asked, known })
}

/// The values of a header that may be repeated and may hold several.
fn list(headers: &HeaderMap, name: &HeaderName) -> Vec<String> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let items = values.flat_map(|value| value.split(',')).map(str::trim);
    items.filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

fn names(headers: &HeaderMap, name: &HeaderName, wanted: &str) -> bool {
    list(headers, name).iter().any(|item| item.eq_ignore_ascii_case(wanted))
}

fn switching(protocol: &'static str) -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static(SPDY));
    headers.insert(VERSION, HeaderValue::from_static(protocol));
    response
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    const PROTOCOLS: Protocols = Protocols { websocket: &["v4"], spdy: &["v4", "v3"] };

    async fn refused(headers: &[(&str, &str)]) -> Refusal {
        let start = Request::builder().uri("/exec");
        let request = headers.iter().fold(start, |request, (name, value)| request.header(*name, *value));
        PROTOCOLS.agree(request.body(Body::empty()).unwrap()).await.err().unwrap()
    }

    #[test]
    fn the_clients_favourite_is_chosen() {
        let asked = ["v5", "v3", "v4"].map(str::to_owned).to_vec();
        assert_eq!(choose(asked, &["v4", "v3"]), Ok("v3"));
    }

    #[tokio::test]
    async fn a_client_without_a_common_protocol_learns_what_there_is() {
        let headers =
            [("connection", "Upgrade"), ("upgrade", "spdy/3.1"), ("x-stream-protocol-version", "v1, v2")];
        let asked = vec!["v1".to_owned(), "v2".to_owned()];
        assert_eq!(refused(&headers).await, Refusal::Protocol { asked, known: &["v4", "v3"] });
    }

    #[tokio::test]
    async fn a_plain_request_is_told_to_upgrade() {
        assert!(matches!(refused(&[]).await, Refusal::Bad(message) if message.contains("upgrade")));
    }
}
