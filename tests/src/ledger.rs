//! What the operator writes, noted on its way to the API server, or turned back as admission would.

use std::sync::{Arc, Mutex, PoisonError};

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::service_fn;

/// A write as its address tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub method: Method,
    /// The plural, and the subresource after a slash.
    pub what: String,
    pub name: String,
}

/// All writes through one client, in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    entries: Arc<Mutex<Vec<Entry>>>,
    /// What is turned back: a write and a name, and the answer.
    refusals: Arc<Mutex<Vec<(String, String, Value)>>>,
    /// Writes of which the next is carried out, and nobody hears of it.
    unanswered: Arc<Mutex<Vec<String>>>,
}

impl Ledger {
    /// A client that goes through `client` and notes what it writes here.
    pub fn over(&self, client: &Client) -> Client {
        let (ledger, inner) = (self.clone(), client.clone());
        let service = service_fn(move |request: Request<Body>| {
            let (ledger, inner) = (ledger.clone(), inner.clone());
            async move {
                let (entry, request) = ledger.note(request).await?;
                let Some(entry) = entry else { return inner.send(request).await };
                if let Some(refusal) = ledger.refusal(&entry) {
                    return Ok(refusal);
                }
                let answer = inner.send(request).await?;
                if ledger.loses(&entry) {
                    Err(kube::Error::Service("the answer was lost".into()))
                } else {
                    Ok(answer)
                }
            }
        });
        Client::new(service, client.default_namespace())
    }

    pub fn entries(&self) -> Vec<Entry> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Loses the answer to the next write of this sort: `"PATCH sandboxclaims/status"`.
    pub fn lose_answer(&self, write: &str) {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).push(write.to_owned());
    }

    /// Whether the answer to this write is to be lost.
    fn loses(&self, entry: &Entry) -> bool {
        let mut unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        let place = unanswered.iter().position(|write| *write == entry.to_string());
        place.map(|place| unanswered.remove(place)).is_some()
    }

    /// How often something was written: `"PATCH pods"`, `"PATCH sandboxes/status"`.
    pub fn count(&self, write: &str) -> usize {
        self.entries().iter().filter(|entry| entry.to_string() == write).count()
    }

    /// What was written to objects of this name.
    pub fn about(&self, name: &str) -> Vec<String> {
        self.entries().iter().filter(|entry| entry.name == name).map(ToString::to_string).collect()
    }

    /// Turns such writes to objects of this name back from now on.
    pub fn refuse(&self, write: &str, name: &str, code: u16, message: &str) {
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "code": code, "reason": if code == 403 { "Forbidden" } else { "Invalid" }, "message": message});
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.push((write.to_owned(), name.to_owned(), status));
    }

    /// Lets everything through again.
    pub fn relent(&self) {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn refusal(&self, entry: &Entry) -> Option<Response<Body>> {
        let refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        let is_meant =
            |(write, name, _): &&(String, String, Value)| *write == entry.to_string() && *name == entry.name;
        let (_, _, status) = refusals.iter().find(is_meant)?;
        let code = u16::try_from(status["code"].as_u64()?).ok()?;
        Response::builder().status(code).body(Body::from(status.to_string().into_bytes())).ok()
    }

    /// Notes a request, which is handed back as it was.
    async fn note(&self, request: Request<Body>) -> kube::Result<(Option<Entry>, Request<Body>)> {
        if request.method() == Method::GET {
            return Ok((None, request));
        }
        let (head, body) = request.into_parts();
        let body = body.collect_bytes().await?;
        let entry = Entry::read(&head.method, head.uri.path(), &body);
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry.clone());
        Ok((Some(entry), Request::from_parts(head, Body::from(body))))
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
