//! Subresources: parts of an object with a path of their own.

use axum::body::{Body, Bytes};
use axum::http::{Method, Response};
use serde_json::{Value, json};

use super::{Call, check_name, patches};
use crate::api::{Proposal, Target, scale};
use crate::object::Object;
use crate::options::{DeleteOptions, Query, Write, WriteOptions};
use crate::resource::Verb;
use crate::security::authentication::Subject;
use crate::server::{limits, reply};
use crate::status::Status;
use crate::{api, strategy};

pub(super) async fn serve(
    call: &Call<'_>,
    name: &str,
    part: &str,
    body: Body,
) -> Result<Response<Body>, Status> {
    let known = call.resource.subresource(part).ok_or_else(Status::no_such_path)?;
    let verb = match call.exchange.parts.method {
        Method::GET => Verb::Get,
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        _ => return Err(Status::method_not_allowed()),
    };
    if !known.verbs.contains(&verb) {
        return Err(Status::method_not_allowed());
    }
    let bytes = limits::body(body).await?;
    match (part, verb) {
        ("scale", _) => serve_scale(call, name, verb, bytes).await,
        ("binding", _) => bind(call, name, &bytes).await,
        ("eviction", _) => evict(call, name, &bytes).await,
        ("token", _) => token(call, name, &bytes),
        (_, Verb::Get) => call.get(name),
        (_, Verb::Update) => call.update(name, bytes).await,
        (_, Verb::Patch) => patches::serve(call, name, bytes).await,
        _ => Err(Status::method_not_allowed()),
    }
}

/// The object itself, whatever part of it the path names.
fn whole<'a>(call: &'a Call<'_>) -> Target<'a> {
    Target { subresource: None, ..call.target() }
}

async fn serve_scale(
    call: &Call<'_>,
    name: &str,
    verb: Verb,
    bytes: Bytes,
) -> Result<Response<Body>, Status> {
    let paths = call
        .resource
        .defined()
        .and_then(|defined| defined.version().scale.as_ref())
        .ok_or_else(Status::no_such_path)?;
    let style = call.exchange.style(&[])?;
    if verb == Verb::Get {
        let entry = call.api().get(&whole(call), name)?;
        let object = api::shown(call.resource, &entry.value)?;
        return Ok(reply::object(200, &scale::of(&object, paths), style, &[]));
    }
    let (kind, change): (_, Box<scale::Change<'_>>) = match verb {
        Verb::Update => {
            let wanted = call.parse(&bytes, ("autoscaling/v1", "Scale"))?;
            check_name(name, &wanted)?;
            (Write::Update, Box::new(move |_: &Value| Ok(wanted.clone())))
        }
        _ => (Write::Patch, Box::new(patches::scale_change(call, &bytes)?)),
    };
    let options = WriteOptions::parse(&call.exchange.query, kind)?;
    let propose = |live: Option<&Value>| {
        let live = live.ok_or_else(Status::no_such_path)?;
        let wanted = change(&scale::of(live, paths))?;
        let object = scale::applied(live, &wanted, paths)?;
        Ok(Proposal { object, is_managed: false })
    };
    let updated = call.api().update(&call.target(), name, &options, false, &propose).await?;
    Ok(reply::object(200, &scale::of(&updated.object, paths), style, &updated.warnings))
}

/// Gives a Pod its node.
async fn bind(call: &Call<'_>, name: &str, bytes: &Bytes) -> Result<Response<Body>, Status> {
    let options = WriteOptions::parse(&call.exchange.query, Write::Create)?;
    let binding = call.parse(bytes, ("v1", "Binding"))?;
    let propose = |live: Option<&Value>| {
        let mut object = live.cloned().ok_or_else(Status::no_such_path)?;
        strategy::bind(&mut object, &binding, call.api().now())?;
        Ok(Proposal { object, is_managed: false })
    };
    call.api().update(&call.target(), name, &options, false, &propose).await?;
    Ok(success(call))
}

/// A deletion that asks nicely. There is nothing here that could object to it.
async fn evict(call: &Call<'_>, name: &str, bytes: &Bytes) -> Result<Response<Body>, Status> {
    let eviction = call.parse(bytes, ("policy/v1", "Eviction"))?;
    if !eviction.name().is_empty() && eviction.name() != name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    let options = DeleteOptions::parse(&Query::default(), Some(&eviction["deleteOptions"]))?;
    call.api().delete(&whole(call), name, &options).await?;
    Ok(success(call))
}

fn success(call: &Call<'_>) -> Response<Body> {
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    reply::object(201, &status, call.exchange.plain_style(), &[])
}

/// A token for a ServiceAccount.
fn token(call: &Call<'_>, name: &str, bytes: &Bytes) -> Result<Response<Body>, Status> {
    let request = call.parse(bytes, ("authentication.k8s.io/v1", "TokenRequest"))?;
    let subject = Subject { namespace: call.path.namespace.as_deref().unwrap_or_default(), name };
    let issued = call.exchange.server.gate.issue_token(subject, &request)?;
    Ok(reply::object(201, &issued, call.exchange.plain_style(), &[]))
}
