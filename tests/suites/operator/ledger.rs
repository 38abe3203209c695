//! What the operator writes, noted on its way to the API server.

use std::sync::{Arc, Mutex, PoisonError};

use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
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
    written: Arc<Mutex<Vec<Entry>>>,
    /// Writes of which the next is carried out, and nobody hears of it.
    unanswered: Arc<Mutex<Vec<String>>>,
}

impl Ledger {
    /// A client that goes through `client` and notes what it writes here.
    pub(crate) fn over(&self, client: &Client) -> Client {
        let (ledger, inner) = (self.clone(), client.clone());
        let service = service_fn(move |request: Request<Body>| {
            let (ledger, inner) = (ledger.clone(), inner.clone());
            async move {
                let (request, is_lost) = ledger.note(request).await?;
                let answer = inner.send(request).await?;
                if is_lost { Err(kube::Error::Service("the answer was lost".into())) } else { Ok(answer) }
            }
        });
        Client::new(service, client.default_namespace())
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Loses the answer to the next write of this sort: `"PATCH sandboxclaims/status"`.
    pub(crate) fn lose_answer(&self, write: &str) {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).push(write.to_owned());
    }

    /// Whether the answer to this write is to be lost.
    fn loses(&self, entry: &Entry) -> bool {
        let mut unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        let place = unanswered.iter().position(|write| *write == entry.to_string());
        place.map(|place| unanswered.remove(place)).is_some()
    }

    /// How often something was written: `"PATCH pods"`, `"PATCH sandboxes/status"`.
    pub(crate) fn count(&self, write: &str) -> usize {
        self.entries().iter().filter(|entry| entry.to_string() == write).count()
    }

    /// What was written to objects of this name.
    pub(crate) fn about(&self, name: &str) -> Vec<String> {
        self.entries().iter().filter(|entry| entry.name == name).map(ToString::to_string).collect()
    }

    /// Notes a request, which is handed back as it was, and whether its answer is to be lost.
    async fn note(&self, request: Request<Body>) -> kube::Result<(Request<Body>, bool)> {
        if request.method() == Method::GET {
            return Ok((request, false));
        }
        let (head, body) = request.into_parts();
        let body = body.collect_bytes().await?;
        let entry = Entry::read(&head.method, head.uri.path(), &body);
        let is_lost = self.loses(&entry);
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        Ok((Request::from_parts(head, Body::from(body)), is_lost))
    }
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
