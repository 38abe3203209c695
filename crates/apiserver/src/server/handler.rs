//! The way of a request: who is it, what does it name, may they, and then the doing.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Method, Request, Response, header};

use super::reply::{self, Style};
use super::strangers::Stranger;
use super::{Shared, endpoints, gate, limits, metrics, resources};
use crate::negotiation::{Choice, Form, Representation, Syntax, negotiate};
use crate::options::Query;
use crate::path::Path;
use crate::security::authentication::{UNAUTHENTICATED, User};
use crate::security::authorization::Attributes;
use crate::status::Status;

/// Who is at the other end of a connection, as far as the connection itself says.
#[derive(Clone)]
pub(super) struct Peer {
    /// Named by a certificate that our authority signed, or the program itself.
    pub user: Option<User>,
    /// The connection, which the program itself needs none of.
    pub connection: Option<Arc<Stranger>>,
}

impl Peer {
    /// This program, which needs no connection.
    pub(super) fn program() -> Self {
        Self { user: Some(gate::program()), connection: None }
    }
}

/// One request, after it was authenticated.
pub(super) struct Exchange<'a> {
    pub server: &'a Arc<Shared>,
    pub parts: &'a Parts,
    pub query: Query,
    pub user: User,
    /// What the client should know beside the answer, whichever it is.
    pub warnings: Mutex<Vec<String>>,
}

/// Answers a request. What changes something is done by a task of the server's own: a client that hangs up cannot leave it
/// half done.
pub(super) async fn handle(server: Arc<Shared>, peer: Peer, request: Request<Body>) -> Response<Body> {
    if !changes_something(&request) {
        return respond(server, peer, request).await;
    }
    let changes = server.changes.clone();
    let response = changes.spawn(respond(server, peer, request)).await;
    response.unwrap_or_else(|error| reply::refusal(&Status::internal(&error.to_string()), Syntax::Json))
}

fn changes_something(request: &Request<Body>) -> bool {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let path = Path::parse(request.uri().path());
    !is_read && !matches!(&path, Path::Resource(named) if resources::is_stream(request.method(), named))
}

async fn respond(server: Arc<Shared>, peer: Peer, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let wants_yaml = parts.headers.get(header::ACCEPT).is_some_and(|accept| accept == "application/yaml");
    match answer(&server, peer, parts, body).await {
        Ok(response) => response,
        Err(status) => reply::refusal(&status, if wants_yaml { Syntax::Yaml } else { Syntax::Json }),
    }
}

async fn answer(
    server: &Arc<Shared>,
    peer: Peer,
    parts: Parts,
    body: Body,
) -> Result<Response<Body>, Status> {
    let query = Query::parse(parts.uri.query());
    let path = Path::parse(parts.uri.path());
    let attributes = match &path {
        Path::Resource(named) => resources::attributes(&parts.method, &query, named),
        _ => Attributes::path(verb(&parts.method), parts.uri.path()),
    };
    let user = server.gate.user(peer.user.as_ref(), &parts.headers, &attributes)?;
    if let Some(connection) = peer.connection.filter(|_| !user.is_in(UNAUTHENTICATED)) {
        connection.introduce(&server.limits.share(&user))?;
    }
    server.gate.authorize(&user, &attributes)?;
    let exchange = Exchange { server, parts: &parts, query, user, warnings: Mutex::default() };
    let Path::Resource(named) = &path else { return endpoints::serve(&exchange, &path) };
    if !resources::is_stream(&parts.method, named) {
        let serving = async {
            if named.group == metrics::GROUP && metrics::are_served(&exchange) {
                return metrics::serve(&exchange, named).await;
            }
            resources::serve(&exchange, named, body).await
        };
        let answering = tokio::time::timeout(limits::REQUEST_TIMEOUT, serving);
        let answer = answering.await.unwrap_or_else(|_| Err(limits::too_late()));
        let mut response = answer.unwrap_or_else(|status| exchange.refusal(&status));
        reply::warn(&mut response, &exchange.take_warnings());
        return Ok(response);
    }
    resources::into_stream(&attributes)
        .map_or(Ok(()), |into| server.gate.authorize(&exchange.user, &into))?;
    // What becomes a stream takes over the connection, and needs the request whole.
    let pod = resources::pod(&exchange, named)?;
    let part = named.subresource.clone().unwrap_or_default();
    let who = exchange.user;
    Ok(server.streams.serve(&part, pod, who, Request::from_parts(parts, body)).await)
}

fn verb(method: &Method) -> &'static str {
    match *method {
        Method::POST => "post",
        Method::PUT => "put",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        Method::HEAD => "head",
        Method::OPTIONS => "options",
        _ => "get",
    }
}

impl Exchange<'_> {
    pub(super) fn warn(&self, warnings: impl IntoIterator<Item = String>) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).extend(warnings);
    }

    pub(super) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn refusal(&self, status: &Status) -> Response<Body> {
        let syntax =
            negotiate(self.header(header::ACCEPT), Choice::Whole).map_or(Syntax::Json, |found| found.syntax);
        reply::refusal(status, syntax)
    }

    pub(super) fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.parts.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// How the client wants its answer.
    pub(super) fn style(&self, choice: Choice) -> Result<Style, Status> {
        let representation = negotiate(self.header(header::ACCEPT), choice)?;
        Ok(Style { representation, is_pretty: self.is_pretty() })
    }

    pub(super) fn plain_style(&self) -> Style {
        let representation = Representation { syntax: Syntax::Json, form: Form::Whole };
        Style { representation, is_pretty: self.is_pretty() }
    }

    /// People look at what their tools show them.
    fn is_pretty(&self) -> bool {
        let agent = self.header(header::USER_AGENT).unwrap_or_default();
        let by_hand = ["curl", "Wget", "Mozilla/5.0"].iter().any(|tool| agent.starts_with(tool));
        self.query.flag("pretty").unwrap_or(by_hand)
    }

    /// The name of a client's program, to which fields belong where it names no manager.
    pub(super) fn agent(&self) -> &str {
        let agent = self.header(header::USER_AGENT).unwrap_or_default();
        agent.split('/').next().unwrap_or_default()
    }
}
