//! Answers as most of the contracts have them.

use http::header::{ALLOW, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::{Response, StatusCode};
use serde::Serialize;

use super::payload::{Feed, Payload, Reply};
use crate::failure::{Code, Failure};
use crate::wire::files::Complaint;

pub(crate) const LINES: &str = "application/x-ndjson";

pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Reply {
    let text = serde_json::to_vec(body).expect("what is said over the wire is JSON");
    typed(status, "application/json", Payload::whole(text))
}

pub(crate) fn ok(body: &impl Serialize) -> Reply {
    json(StatusCode::OK, body)
}

pub(crate) fn typed(status: StatusCode, kind: &'static str, payload: Payload) -> Reply {
    let mut reply = Response::new(payload);
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

pub(crate) fn empty(status: StatusCode) -> Reply {
    let mut reply = Response::new(Payload::empty());
    *reply.status_mut() = status;
    reply
}

/// A body that comes line by line.
pub(crate) fn lines(kind: &'static str) -> (Feed, Reply) {
    let (feed, payload) = Payload::fed();
    (feed, typed(StatusCode::OK, kind, payload))
}

/// One line of JSON.
pub(crate) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("what is said over the wire is JSON");
    line.push(b'\n');
    line
}

/// A refusal as everything below `/v1` has it.
pub(crate) fn failure(failure: &Failure) -> Reply {
    let body = Complaint { code: failure.code.name().to_owned(), message: failure.message.clone() };
    let mut reply = json(status(failure.code), &body);
    if failure.code == Code::Unauthenticated {
        reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    reply
}

pub(crate) fn status(code: Code) -> StatusCode {
    StatusCode::from_u16(code.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

pub(crate) fn not_allowed(allowed: &'static str, body: &impl Serialize) -> Reply {
    let mut reply = json(StatusCode::METHOD_NOT_ALLOWED, body);
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    reply
}
