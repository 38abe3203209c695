//! Answers: objects, lists, tables and refusals as responses.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use futures::stream;
use serde_json::Value;

use crate::negotiation::{Form, Representation, Syntax};
use crate::status::Status;

/// How an answer is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub representation: Representation,
    pub is_pretty: bool,
}

impl Style {
    /// Whether a whole object is answered as the JSON that is kept of it.
    pub(super) fn is_plain(self) -> bool {
        let plain = Representation { syntax: Syntax::Json, form: Form::Whole };
        self.representation == plain && !self.is_pretty
    }
}

pub(super) fn object(code: u16, value: &Value, style: Style) -> Response<Body> {
    let (bytes, media) = match style.representation.syntax {
        Syntax::Json if style.is_pretty => (
            serde_json::to_vec_pretty(value).map(|mut text| {
                text.push(b'\n');
                text
            }),
            "application/json",
        ),
        Syntax::Json => (serde_json::to_vec(value), "application/json"),
        Syntax::Yaml => {
            let text = serde_saphyr::to_string(value).unwrap_or_default();
            (Ok(text.into_bytes()), "application/yaml")
        }
    };
    bytes_reply(code, bytes.expect("a JSON value becomes JSON"), media)
}

pub(super) fn bytes_reply(code: u16, bytes: impl Into<Body>, media: &'static str) -> Response<Body> {
    let mut response = Response::new(bytes.into());
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// An answer that is made piece by piece, as the client takes it.
pub(super) fn parts(
    parts: impl Iterator<Item = Vec<u8>> + Send + 'static,
    media: &'static str,
) -> Response<Body> {
    let parts = stream::iter(parts.map(Ok::<_, Infallible>));
    bytes_reply(200, Vec::new(), media).map(|_| Body::from_stream(parts))
}

pub(super) fn text(code: u16, text: &str) -> Response<Body> {
    let mut response = bytes_reply(code, text.as_bytes().to_vec(), "text/plain; charset=utf-8");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A code that says it all.
pub(super) fn nothing(code: u16) -> Response<Body> {
    let mut response = bytes_reply(code, Vec::new(), "text/plain");
    response.headers_mut().remove(header::CONTENT_TYPE);
    response
}

/// A refusal, whole also for clients that asked for a table.
pub(super) fn refusal(status: &Status, syntax: Syntax) -> Response<Body> {
    if *status == Status::no_such_page() {
        return text(404, "404 page not found\n");
    }
    let representation = Representation { syntax, form: Form::Whole };
    let mut response = object(status.code, &status.to_json(), Style { representation, is_pretty: false });
    let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if seconds > 0 {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

const WARNING: HeaderName = HeaderName::from_static("warning");

/// For all of them together, as Kubernetes has it: headers of more would make clients give up.
const MOST_WARNING_BYTES: usize = 4096;

/// Adds warnings in the form that kubectl prints.
pub(super) fn warn(response: &mut Response<Body>, warnings: &[String]) {
    let mut left = MOST_WARNING_BYTES;
    let mut said: Vec<&String> = Vec::new();
    for warning in warnings {
        if said.contains(&warning) || warning.len() > left {
            continue;
        }
        left -= warning.len();
        said.push(warning);
        let escaped = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{escaped}\"").as_bytes()) {
            response.headers_mut().append(WARNING, value);
        }
    }
}
