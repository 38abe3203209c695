//! What the operator writes, noted on its way to the API server, which some of it does not reach.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use http::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::service_fn;

/// A write as its address tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) method: Method,
    /// The plural, and the subresource after a slash.
    pub(crate) what: String,
    pub(crate) name: String,
}

/// All writes through one client, in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    entries: Arc<Mutex<Vec<Entry>>>,
    forbidden: Arc<Mutex<BTreeSet<String>>>,
}

impl Ledger {
    /// A client that goes through `client` and notes what it writes here.
    pub(crate) fn over(&self, client: &Client) -> Client {
        let (ledger, inner) = (self.clone(), client.clone());
        let service = service_fn(move |request: Request<Body>| {
            let (ledger, inner) = (ledger.clone(), inner.clone());
            async move {
                let (request, is_forbidden) = ledger.note(request).await?;
                if is_forbidden { Ok(refusal()) } else { inner.send(request).await }
            }
        });
        Client::new(service, client.default_namespace())
    }

    /// From now on this is answered as to somebody who may not: `"DELETE sandboxclaims"`.
    pub(crate) fn forbid(&self, write: &str) {
        self.forbidden.lock().unwrap_or_else(PoisonError::into_inner).insert(write.to_owned());
    }

    pub(crate) fn allow(&self, write: &str) {
        self.forbidden.lock().unwrap_or_else(PoisonError::into_inner).remove(write);
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often something was written: `"PATCH pods"`, `"PATCH sandboxes/status"`.
    pub(crate) fn count(&self, write: &str) -> usize {
        self.entries().iter().filter(|entry| entry.to_string() == write).count()
    }

    /// What was written to objects of this name.
    pub(crate) fn about(&self, name: &str) -> Vec<String> {
        self.entries().iter().filter(|entry| entry.name == name).map(ToString::to_string).collect()
    }

    /// Notes a request, which is handed back as it was, and whether it is forbidden.
    async fn note(&self, request: Request<Body>) -> kube::Result<(Request<Body>, bool)> {
        if request.method() == Method::GET {
            return Ok((request, false));
        }
        let (head, body) = request.into_parts();
        let body = body.collect_bytes().await?;
        let entry = Entry::read(&head.method, head.uri.path(), &body);
        let forbidden = self.forbidden.lock().unwrap_or_else(PoisonError::into_inner);
        let is_forbidden = forbidden.contains(&entry.to_string());
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        Ok((Request::from_parts(head, Body::from(body)), is_forbidden))
    }
}

fn refusal() -> Response<Body> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 403,
        "reason": "Forbidden", "message": "you may not"});
    let mut response = Response::new(Body::from(status.to_string().into_bytes()));
    *response.status_mut() = StatusCode::FORBIDDEN;
    response
}

impl Entry {
    /// The path after `/namespaces/<namespace>/` is plural, name and subresource. That of a create has no name.
    fn read(method: &Method, path: &str, body: &[u8]) -> Self {
        let place = path.split("/namespaces/").nth(1).unwrap_or(path);
        let mut parts = place.split('/').skip(1);
        let plural = parts.next().unwrap_or_default();
        let name = parts.next().map_or_else(|| name_in(body), ToOwned::to_owned);
        let subresource = parts.next().map_or_else(String::new, |part| format!("/{part}"));
        Self { method: method.clone(), what: format!("{plural}{subresource}"), name }
    }
}

fn name_in(body: &[u8]) -> String {
    let object: Value = serde_json::from_slice(body).unwrap_or_default();
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

impl std::fmt::Display for Entry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.method, self.what)
    }
}
