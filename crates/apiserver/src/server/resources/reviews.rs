//! What is made and not stored: questions (who am I, may I, may they), and bindings.

use axum::body::Body;
use axum::http::Response;
use serde_json::Value;

use super::{Call, parts};
use crate::api::Target;
use crate::object::Object;
use crate::options::WriteOptions;
use crate::rules;
use crate::server::reply;
use crate::status::Status;

pub(super) async fn serve(
    call: &Call<'_>,
    mut object: Value,
    options: &WriteOptions,
) -> Result<Response<Body>, Status> {
    let registry = call.api().registry();
    if call.resource.kind == "Binding" {
        let pods = registry.find("", "v1", "pods").ok_or_else(Status::no_such_path)?;
        // Only a binding that is sent to its Pod says by uid which one it means.
        object.meta_mut().remove("uid");
        let target = Target { resource: pods, ..call.target() };
        return parts::bind_pod(call, &target, object.name(), &object, options).await;
    }
    let gate = &call.exchange.server.gate;
    let namespace = call.path.namespace.as_deref();
    let question = rules::managed(&registry, &call.target(), None, object, options, call.api().now());
    let answer = gate.review(&call.resource.kind, &call.exchange.user, namespace, &question)?;
    Ok(reply::object(201, &answer, call.exchange.plain_style()))
}
