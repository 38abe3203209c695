//! Subresources: parts of an object with a path of their own.

use axum::body::{Body, Bytes};
use axum::http::{Method, Response};
use serde_json::{Value, json};

use super::{Call, check_name, patches};
use crate::api::{self, Proposal, Target, scale};
use crate::negotiation::Choice;
use crate::object::Object;
use crate::options::{DeleteOptions, Write, WriteOptions};
use crate::resource::Verb;
use crate::security::authentication::ServiceAccount;
use crate::server::reply;
use crate::status::Status;
use crate::strategy;

pub(super) async fn serve(
    call: &Call<'_>,
    name: &str,
    part: &str,
    bytes: Bytes,
) -> Result<Response<Body>, Status> {
    let verb = verb(call, name, part)?;
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

/// What is asked of a part, if it exists and can be asked that. Kubernetes words it differently for defined kinds.
fn verb(call: &Call<'_>, name: &str, part: &str) -> Result<Verb, Status> {
    let resource = call.resource.group_resource();
    let is_built_in = call.resource.is_built_in();
    let Some(known) = call.resource.subresource(part) else {
        return Err(if is_built_in { Status::no_such_path() } else { Status::not_found(&resource, name) });
    };
    let (verb, word) = match call.exchange.parts.method {
        Method::GET => (Some(Verb::Get), "get"),
        Method::POST => (Some(Verb::Create), "create"),
        Method::PUT => (Some(Verb::Update), "update"),
        Method::PATCH => (Some(Verb::Patch), "patch"),
        _ => (None, "delete"),
    };
    let refused = if is_built_in {
        Status::method_not_allowed()
    } else {
        Status::method_not_supported(&resource, word)
    };
    verb.filter(|verb| known.verbs.contains(verb)).ok_or(refused)
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
    let paths = call.resource.defined().and_then(|defined| defined.version().scale.as_ref());
    let paths = paths.ok_or_else(Status::no_such_path)?;
    let style = call.exchange.style(Choice::Whole)?;
    if verb == Verb::Get {
        let entry = call.api().get(&whole(call), name)?;
        let object = api::shown(call.resource, &entry)?;
        return Ok(reply::object(200, &scale::of(&object, paths)?, style));
    }
    let (write, change): (_, Box<scale::Change<'_>>) = match verb {
        Verb::Update => {
            let wanted = call.parse(&bytes, ("autoscaling/v1", "Scale"))?;
            check_name(name, &wanted)?;
            (Write::Update, Box::new(move |_: &Value| Ok(wanted.clone())))
        }
        _ => (Write::Patch, Box::new(patches::scale_change(call, &bytes)?)),
    };
    let options = WriteOptions::parse(&call.exchange.query, write)?;
    let propose = |live: Option<&Value>| {
        let live = live.ok_or_else(Status::no_such_path)?;
        let wanted = change(&scale::of_any(live, paths))?;
        Ok(Proposal::Edit(scale::applied(live, &wanted, paths)))
    };
    let updated = call.api().update(&call.target(), name, &options, false, &propose).await?;
    call.exchange.warn(updated.warnings);
    Ok(reply::object(200, &scale::of(&updated.object, paths)?, style))
}

/// Gives a Pod its node.
pub(super) async fn bind(call: &Call<'_>, name: &str, bytes: &Bytes) -> Result<Response<Body>, Status> {
    let options = WriteOptions::parse(&call.exchange.query, Write::Create)?;
    let binding = call.parse(bytes, ("v1", "Binding"))?;
    bind_pod(call, &call.target(), name, &binding, &options).await
}

/// The same, wherever the binding was sent to.
pub(super) async fn bind_pod(
    call: &Call<'_>,
    pod: &Target<'_>,
    name: &str,
    binding: &Value,
    options: &WriteOptions,
) -> Result<Response<Body>, Status> {
    let propose = |live: Option<&Value>| {
        let mut object = live.cloned().ok_or_else(Status::no_such_path)?;
        strategy::bind(&mut object, binding, call.api().now())?;
        Ok(Proposal::Edit(object))
    };
    let target = Target { subresource: Some("binding"), ..*pod };
    call.api().update(&target, name, options, false, &propose).await?;
    Ok(success(call))
}

/// A deletion that asks nicely. There is nothing here that could object to it.
async fn evict(call: &Call<'_>, name: &str, bytes: &Bytes) -> Result<Response<Body>, Status> {
    let options = WriteOptions::parse(&call.exchange.query, Write::Create)?;
    let eviction = call.parse(bytes, ("policy/v1", "Eviction"))?;
    if eviction.name() != name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    let mut deletion = DeleteOptions::parse(&call.exchange.query, eviction.get("deleteOptions"))?;
    deletion.is_dry_run |= options.is_dry_run;
    if !deletion.is_dry_run {
        let version = call.api().note_eviction(&whole(call), name, &deletion).await?;
        // Whoever named the version of before means the Pod that now has this one.
        deletion.resource_version = deletion.resource_version.map(|_| version);
    }
    call.api().delete(&whole(call), name, &deletion).await?;
    Ok(success(call))
}

fn success(call: &Call<'_>) -> Response<Body> {
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    reply::object(201, &status, call.exchange.plain_style())
}

/// A token for a ServiceAccount.
fn token(call: &Call<'_>, name: &str, bytes: &Bytes) -> Result<Response<Body>, Status> {
    let request = call.parse(bytes, ("authentication.k8s.io/v1", "TokenRequest"))?;
    let account = ServiceAccount { namespace: call.path.namespace.as_deref().unwrap_or_default(), name };
    let issued = call.exchange.server.gate.issue_token(account, &request)?;
    Ok(reply::object(201, &issued, call.exchange.plain_style()))
}
