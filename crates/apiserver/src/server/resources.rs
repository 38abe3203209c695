//! Requests for resources: which verb a method is, and how the answer is put.

mod parts;
mod patches;
mod reviews;

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Method, Response, header};
use serde_json::Value;
use tokio::time::Instant;

use super::collection::{Shape, Written};
use super::handler::Exchange;
use super::patience::holding;
use super::reply::{self, Style};
use super::{collection, events, limits};
use crate::api::{self, Proposal, Target};
use crate::decode::{self, Expected, Media};
use crate::negotiation::{Choice, Extent, Form, Syntax};
use crate::object::Object;
use crate::options::{DeleteOptions, ListOptions, Query, Write, WriteOptions};
use crate::path::ResourcePath;
use crate::resource::{Resource, Verb};
use crate::rules;
use crate::security::authorization::{self, Attributes};
use crate::selector::FieldSelector;
use crate::status::Status;
use crate::streaming::Pod;
use crate::table::{self, IncludeObject};

/// The parts of Pods that are streams.
const STREAMS: [&str; 4] = ["attach", "exec", "log", "portforward"];

/// What authorization is asked.
pub(super) fn attributes(method: &Method, query: &Query, path: &ResourcePath) -> Attributes {
    let verb = verb(method, query, path);
    let mut asked = asked(path);
    // A request for the one object of a name is for that object.
    if asked.name.is_empty() && matches!(verb, "list" | "watch" | "deletecollection") {
        let fields = FieldSelector::parse(query.get("fieldSelector").unwrap_or_default());
        asked.name = fields.ok().and_then(|fields| fields.name().map(str::to_owned)).unwrap_or_default();
    }
    Attributes::resource(verb, asked)
}

/// The objects that a request is about, as authorization names them.
fn asked(path: &ResourcePath) -> authorization::Resource {
    // A Namespace is in itself, so that a role in it can speak of it.
    let namespace = match path.resource.as_str() {
        "namespaces" if path.group.is_empty() => path.name.as_deref(),
        _ => path.namespace.as_deref(),
    };
    authorization::Resource {
        group: path.group.clone(),
        resource: path.resource.clone(),
        subresource: path.subresource.clone().unwrap_or_default(),
        namespace: namespace.unwrap_or_default().to_owned(),
        name: path.name.clone().unwrap_or_default(),
    }
}

fn verb(method: &Method, query: &Query, path: &ResourcePath) -> &'static str {
    let is_collection = path.name.is_none();
    match *method {
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if is_collection => "deletecollection",
        Method::DELETE => "delete",
        _ if path.is_watch => "watch",
        _ if is_collection && query.flag("watch").unwrap_or_default() => "watch",
        _ if is_collection => "list",
        _ => "get",
    }
}

pub(super) fn is_stream(method: &Method, path: &ResourcePath) -> bool {
    let is_part = path.subresource.as_deref().is_some_and(|part| STREAMS.contains(&part));
    is_part
        && (path.group.as_str(), path.resource.as_str()) == ("", "pods")
        && matches!(*method, Method::GET | Method::POST)
}

/// What else is asked of whoever opens a stream into a Pod: a GET does as much as a POST, so it takes the same right.
pub(super) fn into_stream(asked: &Attributes) -> Option<Attributes> {
    let only_reads = matches!(&asked.target, authorization::Target::Resource(it) if it.subresource == "log");
    (asked.verb != "create" && !only_reads).then(|| Attributes { verb: "create".to_owned(), ..asked.clone() })
}

/// The Pod that a stream is asked of, which must exist.
pub(super) fn pod(exchange: &Exchange<'_>, path: &ResourcePath) -> Result<Pod, Status> {
    let (resource, name) = (find(exchange, path)?, path.name.as_deref().unwrap_or_default());
    exchange.server.api.get(&target(exchange, path, &resource), name)?;
    Ok(Pod { namespace: path.namespace.clone().unwrap_or_default(), name: name.to_owned() })
}

fn find(exchange: &Exchange<'_>, path: &ResourcePath) -> Result<Arc<Resource>, Status> {
    let registry = exchange.server.api.registry();
    let found = registry.find(&path.group, &path.version, &path.resource).filter(|resource| {
        let is_misplaced = path.namespace.is_some() && !resource.is_namespaced
            || path.namespace.is_none() && path.name.is_some() && resource.is_namespaced;
        !is_misplaced && exchange.server.api.is_defined(resource)
    });
    found.cloned().ok_or_else(|| match registry.all().iter().find(|other| other.group == path.group) {
        Some(other) if other.is_built_in() => Status::no_such_path(),
        _ => Status::no_such_page(),
    })
}

fn target<'a>(exchange: &'a Exchange<'_>, path: &'a ResourcePath, resource: &'a Resource) -> Target<'a> {
    Target {
        resource,
        namespace: path.namespace.as_deref(),
        subresource: path.subresource.as_deref(),
        agent: exchange.agent(),
    }
}

pub(super) async fn serve(
    exchange: &Exchange<'_>,
    path: &ResourcePath,
    body: Body,
) -> Result<Response<Body>, Status> {
    find(exchange, path)?;
    let share = exchange.server.limits.share(&exchange.user);
    let permit = if is_watch(exchange, path) { share.watch()? } else { share.request()? };
    let body = limits::body(body).await?;
    loop {
        // A body takes its time, and what is served changes meanwhile.
        let resource = find(exchange, path)?;
        exchange.warn(resource.deprecation.clone());
        let call = Call { exchange, path, resource: &resource };
        let answering = tokio::time::timeout(limits::REQUEST_TIMEOUT, call.answered(body.clone()));
        match share.compute(answering).await.unwrap_or_else(|_| Err(limits::too_late())) {
            Err(status) if status.reason == api::OUTDATED => {
                exchange.take_warnings();
                exchange.server.api.retired(&resource).await;
            }
            answer => return answer.map(|response| holding(response, permit)),
        }
    }
}

fn is_watch(exchange: &Exchange<'_>, path: &ResourcePath) -> bool {
    let method = &exchange.parts.method;
    *method == Method::GET && path.subresource.is_none() && verb(method, &exchange.query, path) == "watch"
}

/// A request for one resource.
struct Call<'a> {
    exchange: &'a Exchange<'a>,
    path: &'a ResourcePath,
    resource: &'a Arc<Resource>,
}

impl Call<'_> {
    async fn answered(&self, body: Bytes) -> Result<Response<Body>, Status> {
        match (&self.exchange.parts.method, self.path.name.as_deref(), self.path.subresource.as_deref()) {
            (_, Some(name), Some(part)) => parts::serve(self, name, part, body).await,
            _ if is_watch(self.exchange, self.path) => self.watch(),
            (&Method::GET, None, None) => self.list(),
            (&Method::POST, None, None) => self.create(body).await,
            (&Method::DELETE, None, None) => self.delete_collection(body).await,
            (&Method::PUT, None, None) if !self.resource.is_built_in() => {
                Err(Status::bad_request("name must be provided"))
            }
            // What is only made has no names.
            (_, Some(_), None) if !self.resource.allows(Verb::Get) => Err(Status::no_such_path()),
            (&Method::GET, Some(name), None) => self.get(name),
            (&Method::PUT, Some(name), None) => self.update(name, body).await,
            (&Method::PATCH, Some(name), None) => patches::serve(self, name, body).await,
            (&Method::DELETE, Some(name), None) => self.delete(name, body).await,
            _ => Err(Status::method_not_allowed()),
        }
    }

    fn api(&self) -> &api::Api {
        &self.exchange.server.api
    }

    fn target(&self) -> Target<'_> {
        target(self.exchange, self.path, self.resource)
    }

    fn allow(&self, verb: Verb) -> Result<(), Status> {
        if self.resource.allows(verb) { Ok(()) } else { Err(Status::method_not_allowed()) }
    }

    /// Objects in namespaces are made and deleted there, not everywhere at once.
    fn must_have_a_place(&self) -> Result<(), Status> {
        match (self.resource.is_namespaced && self.path.namespace.is_none(), self.resource.is_built_in()) {
            (false, _) => Ok(()),
            (true, true) => Err(Status::method_not_allowed()),
            (true, false) => Err(Status::no_such_page()),
        }
    }

    /// How the client wants objects. Kubernetes looks at the media type twice, with other words, for its own kinds.
    fn style(&self) -> Result<Style, Status> {
        let accept = self.exchange.header(header::ACCEPT).unwrap_or_default();
        let media = |wish: &str| wish.split(';').next().unwrap_or_default().trim().to_owned();
        let is_known =
            |wish: &str| matches!(media(wish).as_str(), "" | "*/*" | "application/json" | "application/yaml");
        if self.resource.is_built_in() && !accept.split(',').any(is_known) {
            let message =
                "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml";
            let status = Status::new(406, "NotAcceptable", message);
            return Err(Status { details: Some(Box::default()), ..status });
        }
        self.exchange.style(Choice::Objects)
    }

    fn get(&self, name: &str) -> Result<Response<Body>, Status> {
        self.allow(Verb::Get)?;
        let style = self.style()?;
        let entry = self.api().get_since(&self.target(), name, self.exchange.query.get("resourceVersion"))?;
        if style.is_plain() && api::is_as_stored(self.resource, &entry) {
            return Ok(reply::bytes_reply(200, entry.text.json().clone(), "application/json"));
        }
        self.answer(200, &api::shown(self.resource, &entry)?, style)
    }

    fn list(&self) -> Result<Response<Body>, Status> {
        self.allow(Verb::List)?;
        let style = self.style()?;
        let options = ListOptions::parse(&self.exchange.query)?;
        let page = self.api().list(&self.target(), &options)?;
        self.answer_page(page, style)
    }

    fn watch(&self) -> Result<Response<Body>, Status> {
        self.allow(Verb::Watch)?;
        let style = self.style()?;
        let mut options = ListOptions::parse(&self.exchange.query)?;
        if let Some(name) = &self.path.name {
            options.selector.fields = options.selector.fields.named(name);
        }
        let wanted = options.timeout_seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let channel = events::Channel {
            resource: Arc::clone(self.resource),
            form: style.representation.form,
            include: self.include()?,
            deadline: Instant::now() + wanted.unwrap_or(events::LONGEST).min(events::LONGEST),
            stop: self.exchange.server.stop.clone(),
            retired: Box::pin(self.api().retired(self.resource)),
        };
        match self.api().watch(self.resource, &self.target(), &options) {
            Ok(feed) => Ok(events::respond(feed, channel)),
            Err(status) if status.code == 410 => Ok(events::refuse(&status)),
            Err(status) => Err(status),
        }
    }

    async fn create(&self, bytes: Bytes) -> Result<Response<Body>, Status> {
        self.allow(Verb::Create)?;
        self.must_have_a_place()?;
        let options = WriteOptions::parse(&self.exchange.query, Write::Create)?;
        let style = self.style()?;
        let object = self.decode(&bytes, &options)?;
        if !self.resource.allows(Verb::List) {
            return reviews::serve(self, object, &options).await;
        }
        self.check_grants(&object, None)?;
        let created = self.api().create(&self.target(), object, &options).await?;
        self.exchange.warn(created.warnings);
        self.answer(201, &created.object, style)
    }

    async fn update(&self, name: &str, bytes: Bytes) -> Result<Response<Body>, Status> {
        self.allow(Verb::Update)?;
        let options = WriteOptions::parse(&self.exchange.query, Write::Update)?;
        let style = self.style()?;
        let object = self.decode(&bytes, &options)?;
        check_name(name, &object)?;
        let creates = rules::allows_create_on_update(self.resource) && self.path.subresource.is_none();
        let propose = |live: Option<&Value>| {
            self.check_grants(&object, live)?;
            Ok(Proposal::Replacement(object.clone()))
        };
        let updated = self.api().update(&self.target(), name, &options, creates, &propose).await?;
        self.exchange.warn(updated.warnings);
        self.answer(if updated.is_new { 201 } else { 200 }, &updated.object, style)
    }

    async fn delete(&self, name: &str, bytes: Bytes) -> Result<Response<Body>, Status> {
        self.allow(Verb::Delete)?;
        let style = self.style()?;
        let options = self.delete_options(&bytes)?;
        let deleted = self.api().delete(&self.target(), name, &options).await?;
        let is_accepted = !deleted.is_gone && options.orphan_dependents == Some(false);
        let code = if is_accepted { 202 } else { 200 };
        if deleted.answer["kind"] == "Status" {
            return Ok(reply::object(code, &deleted.answer, self.exchange.plain_style()));
        }
        self.answer(code, &deleted.answer, style)
    }

    async fn delete_collection(&self, bytes: Bytes) -> Result<Response<Body>, Status> {
        self.allow(Verb::DeleteCollection)?;
        self.must_have_a_place()?;
        let style = self.style()?;
        let options = self.delete_options(&bytes)?;
        let list = ListOptions::parse(&self.exchange.query)?;
        let page = self.api().delete_collection(&self.target(), &options, &list).await?;
        self.answer_page(page, style)
    }

    fn delete_options(&self, bytes: &Bytes) -> Result<DeleteOptions, Status> {
        if bytes.is_empty() {
            return DeleteOptions::parse(&self.exchange.query, None);
        }
        let body = decode::delete_options(bytes, self.media()?, decode::Limits::default())?;
        DeleteOptions::parse(&self.exchange.query, Some(&body))
    }

    /// Fields that grant permissions must not grant more than their writer has.
    fn check_grants(&self, new: &Value, old: Option<&Value>) -> Result<(), Status> {
        self.exchange.server.gate.check_grants(&self.exchange.user, &asked(self.path), new, old)
    }

    /// The object of a body, of the kind that the path names.
    fn decode(&self, bytes: &Bytes, options: &WriteOptions) -> Result<Value, Status> {
        let (object, warnings) =
            rules::decode(self.resource, bytes, self.media()?, options.field_validation)?;
        self.exchange.warn(warnings);
        Ok(object)
    }

    /// A body of another kind than the resource's, by its version and kind.
    fn parse(&self, bytes: &Bytes, (api_version, kind): (&str, &str)) -> Result<Value, Status> {
        let expected = Expected { api_version, kind };
        let decoded = decode::decode(bytes, self.media()?, expected, decode::Limits::default())?;
        let (object, warnings) = decoded.judged(decode::FieldValidation::Warn, expected)?;
        self.exchange.warn(warnings);
        Ok(object)
    }

    fn media(&self) -> Result<Media, Status> {
        let given = self.exchange.header(header::CONTENT_TYPE).unwrap_or_default();
        match given.split(';').next().unwrap_or_default().trim() {
            "" | "application/json" | "*/*" => Ok(Media::Json),
            "application/yaml" => Ok(Media::Yaml),
            "application/vnd.kubernetes.protobuf" if self.resource.is_built_in() => Ok(Media::Protobuf),
            _ => {
                let known = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
                let message = format!(
                    "the body of the request was in an unknown format - accepted media types include: {known}"
                );
                Err(Status::new(415, "UnsupportedMediaType", message))
            }
        }
    }

    fn include(&self) -> Result<IncludeObject, Status> {
        IncludeObject::parse(self.exchange.query.get("includeObject").unwrap_or_default())
    }

    fn answer(&self, code: u16, object: &Value, style: Style) -> Result<Response<Body>, Status> {
        let formed = match style.representation.form {
            Form::Table(version) => {
                let metadata = collection::single_metadata(object);
                let columns = collection::columns(self.resource);
                let (include, now) = (self.include()?, jiff::Timestamp::now());
                collection::in_version(
                    table::table(columns, [object.clone()], metadata, include, true, now),
                    version,
                )
            }
            Form::Partial(Extent::Object, version) => collection::partial(object, version),
            Form::Partial(Extent::List, _) => {
                return Err(collection::wrong_extent(self.resource, Extent::Object));
            }
            Form::Whole | Form::Aggregated => return Ok(reply::object(code, object, style)),
        };
        Ok(reply::object(code, &formed, style))
    }

    fn answer_page(&self, page: api::Page, style: Style) -> Result<Response<Body>, Status> {
        let shape = Shape { representation: style.representation, include: self.include()? };
        let media = match style.representation.syntax {
            Syntax::Json => "application/json",
            Syntax::Yaml => "application/yaml",
        };
        Ok(match collection::write(self.resource, page, shape)? {
            Written::Whole(bytes) => reply::bytes_reply(200, bytes, media),
            Written::Parts(first, rest) => reply::parts(std::iter::once(first).chain(rest), media),
        })
    }
}

/// An object keeps its name.
fn check_name(name: &str, object: &Value) -> Result<(), Status> {
    match object.name() {
        given if given == name => Ok(()),
        "" => Err(Status::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        given => Err(Status::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        ))),
    }
}
