//! Questions that are answered and not stored: who am I, may I, may they.

use axum::body::Body;
use axum::http::Response;
use serde_json::Value;

use super::Call;
use crate::server::reply;
use crate::status::Status;

pub(super) fn serve(call: &Call<'_>, question: &Value) -> Result<Response<Body>, Status> {
    let gate = &call.exchange.server.gate;
    let namespace = call.path.namespace.as_deref();
    let answer = gate.review(&call.resource.kind, &call.exchange.user, namespace, question)?;
    Ok(reply::object(201, &answer, call.exchange.plain_style(), &[]))
}
