//! What the operator asks of the API server, noted on its way there. The answer to the first write of each sort is lost, so
//! that the operator has to look what became of it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{Method, Request, Response, StatusCode, Uri};
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tower::service_fn;

/// A verb, and the group and resource (with its subresource after a slash) that it was asked of.
pub(crate) type Use = (String, String, String);

#[derive(Clone, Default)]
pub(crate) struct Usage(Arc<Mutex<Notes>>);

#[derive(Clone, Default)]
pub(crate) struct Notes {
    pub(crate) asked: BTreeSet<Use>,
    /// What of it the API server forbade.
    pub(crate) refused: BTreeSet<Use>,
}

impl Usage {
    /// A client that goes through `client` and notes everything here.
    pub(crate) fn over(&self, client: &Client) -> Client {
        let (usage, inner) = (self.clone(), client.clone());
        let service = service_fn(move |request: Request<Body>| {
            let (usage, inner) = (usage.clone(), inner.clone());
            async move {
                let asked = read(request.method(), request.uri());
                let is_write = request.method() != Method::GET;
                let answer = inner.send(request).await?;
                let is_new = usage.note(asked, answer.status());
                let is_lost = is_new && is_write && answer.status().is_success();
                Ok::<_, kube::Error>(if is_lost { lost() } else { answer })
            }
        });
        Client::new(service, client.default_namespace())
    }

    pub(crate) fn notes(&self) -> Notes {
        self.lock().clone()
    }

    pub(crate) fn has(&self, verb: &str, resource: &str) -> bool {
        self.lock().asked.iter().any(|(asked, _, of)| asked == verb && of == resource)
    }

    /// Whether it was never asked before.
    fn note(&self, asked: Use, answer: StatusCode) -> bool {
        let mut notes = self.lock();
        if answer == StatusCode::FORBIDDEN {
            notes.refused.insert(asked.clone());
        }
        notes.asked.insert(asked)
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an API server says whose database did not answer in time.
fn lost() -> Response<Body> {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 500, "reason": "InternalError",
        "message": "the answer was lost on purpose",
    });
    let mut answer = Response::new(Body::from(status.to_string().into_bytes()));
    *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    answer
}

/// `/api/v1/…` or `/apis/GROUP/VERSION/…`, then perhaps `namespaces/NAME`, then plural, name and subresource.
fn read(method: &Method, uri: &Uri) -> Use {
    let mut parts: Vec<_> = uri.path().split('/').skip(1).collect();
    let group = if parts[0] == "api" { String::new() } else { parts.remove(1).to_owned() };
    parts.drain(..2);
    if parts[0] == "namespaces" && parts.len() > 2 {
        parts.drain(..2);
    }
    let resource = parts.iter().enumerate().filter(|(place, _)| *place != 1).map(|(_, part)| *part);
    let is_watch = uri.query().is_some_and(|query| query.contains("watch=true"));
    let verb = match method.as_str() {
        "GET" if is_watch => "watch",
        "GET" if parts.len() == 1 => "list",
        "GET" => "get",
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" if parts.len() == 1 => "deletecollection",
        "DELETE" => "delete",
        other => other,
    };
    (verb.to_owned(), group, resource.collect::<Vec<_>>().join("/"))
}

#[test]
fn requests_are_read_as_the_api_server_reads_them() {
    let read = |method: &str, path: &str| {
        let (verb, group, resource) = read(&method.parse().unwrap(), &path.parse().unwrap());
        format!("{verb} {group} {resource}")
    };
    assert_eq!(read("GET", "/api/v1/pods?watch=true"), "watch  pods");
    assert_eq!(read("GET", "/api/v1/nodes/a"), "get  nodes");
    assert_eq!(read("POST", "/api/v1/namespaces"), "create  namespaces");
    assert_eq!(
        read("PATCH", "/apis/agents.x-k8s.io/v1beta1/namespaces/a/sandboxes/b/status"),
        "patch agents.x-k8s.io sandboxes/status"
    );
    assert_eq!(
        read("GET", "/apis/networking.k8s.io/v1/networkpolicies?limit=500"),
        "list networking.k8s.io networkpolicies"
    );
}
