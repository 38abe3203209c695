//! The way of a request: who is it, what does it name, may they, and then the doing.

use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Method, Request, Response, header};

use super::reply::{self, Style};
use super::{Shared, endpoints, resources};
use crate::negotiation::{Form, Representation, Syntax, negotiate};
use crate::options::Query;
use crate::path::Path;
use crate::security::authentication::User;
use crate::security::authorization::Attributes;
use crate::status::Status;

/// Who is at the other end of a connection, as far as the connection itself says.
#[derive(Clone, Debug, Default)]
pub(super) struct Peer {
    /// Named by a certificate that our authority signed, or the program itself.
    pub user: Option<User>,
}

/// One request, after it was authenticated.
pub(super) struct Exchange<'a> {
    pub server: &'a Arc<Shared>,
    pub parts: &'a Parts,
    pub query: Query,
    pub user: User,
}

pub(super) async fn handle(server: Arc<Shared>, peer: Peer, request: Request<Body>) -> Response<Body> {
    match answer(&server, peer, request).await {
        Ok(response) => response,
        Err(status) => reply::refusal(&status),
    }
}

async fn answer(server: &Arc<Shared>, peer: Peer, request: Request<Body>) -> Result<Response<Body>, Status> {
    let (parts, body) = request.into_parts();
    let query = Query::parse(parts.uri.query());
    let path = Path::parse(parts.uri.path());
    let attributes = match &path {
        Path::Resource(named) => resources::attributes(&parts.method, &query, named),
        _ => Attributes::path(verb(&parts.method), parts.uri.path()),
    };
    let user = server.gate.user(peer.user.as_ref(), &parts.headers, &attributes)?;
    server.gate.authorize(&user, &attributes)?;
    let exchange = Exchange { server, parts: &parts, query, user };
    let Path::Resource(named) = &path else { return endpoints::serve(&exchange, &path) };
    if !resources::is_stream(&parts.method, named) {
        return resources::serve(&exchange, named, body).await;
    }
    // What becomes a stream takes over the connection, and needs the request whole.
    let pod = resources::pod(&exchange, named)?;
    let part = named.subresource.clone().unwrap_or_default();
    Ok(server.streams.serve(&part, pod, Request::from_parts(parts, body)).await)
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
    pub(super) fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.parts.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// How the client wants its answer; of the special forms, those that make sense here.
    pub(super) fn style(&self, known: &[Form]) -> Result<Style, Status> {
        let representation = negotiate(self.header(header::ACCEPT), known)?;
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
