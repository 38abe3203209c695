//! One request and its answer, with every header in the suite's hands. Follows nothing, repeats nothing.

use anyhow::{Context, Result, ensure};
use http_body_util::BodyExt;
use hyper::http::{HeaderMap, Request, Response};
use k8s_openapi::ByteString;
use kube::Client;
use kube::client::Body;
use serde_json::{Map, Value, json};

use crate::case::{self, PatchKind, Step};
use crate::variables::Variables;

/// Kubernetes takes the name of a field manager from it.
const USER_AGENT: &str = "differential/1.0";

/// Headers that Kubernetes sets deliberately and clients act on.
const COMPARED: &[&str] =
    &["content-type", "warning", "location", "allow", "retry-after", "www-authenticate"];

/// Sends a step's request. The answer's body is still to be read.
pub(crate) async fn send(client: &Client, step: &Step, variables: &Variables) -> Result<Response<Body>> {
    let request = request(step, variables).with_context(|| format!("cannot make {}", step.request))?;
    client.send(request).await.with_context(|| format!("no answer to {}", step.request))
}

/// An answer as data: status, the headers that matter, and the body.
pub(crate) async fn read(response: Response<Body>) -> Result<Value> {
    let mut answer = head(&response);
    let bytes = response.into_body().collect().await?.to_bytes();
    answer.insert("body".to_owned(), body_of(&bytes));
    Ok(Value::Object(answer))
}

/// What an answer says before its body.
pub(crate) fn head(response: &Response<Body>) -> Map<String, Value> {
    let mut answer = Map::new();
    answer.insert("status".to_owned(), json!(response.status().as_u16()));
    answer.insert("headers".to_owned(), Value::Object(headers_of(response.headers())));
    answer
}

fn request(step: &Step, variables: &Variables) -> Result<Request<Body>> {
    let (method, path) = step.request.split_once(' ').context("a request is a method and a path")?;
    let mut request = Request::builder().method(method).uri(variables.fill(path));
    for (name, value) in headers(step, method) {
        request = request.header(name, variables.fill(&value));
    }
    Ok(request.body(Body::from(body(&step.body, variables)?))?)
}

fn headers(step: &Step, method: &str) -> Vec<(String, String)> {
    let mut headers = vec![
        ("User-Agent".to_owned(), USER_AGENT.to_owned()),
        ("Accept".to_owned(), "application/json".to_owned()),
    ];
    if let Some(kind) = content_type(step, method) {
        headers.push(("Content-Type".to_owned(), kind.to_owned()));
    }
    headers.retain(|(name, _)| !step.headers.keys().any(|given| given.eq_ignore_ascii_case(name)));
    let given = step.headers.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
    headers.into_iter().chain(given).chain(impersonation(step)).collect()
}

fn content_type(step: &Step, method: &str) -> Option<&'static str> {
    let case::Body { json, text, base64 } = &step.body;
    match step.patch {
        Some(PatchKind::Json) => Some("application/json-patch+json"),
        Some(PatchKind::Merge) => Some("application/merge-patch+json"),
        Some(PatchKind::Strategic) => Some("application/strategic-merge-patch+json"),
        Some(PatchKind::Apply) => Some("application/apply-patch+yaml"),
        None if method == "PATCH" => None,
        None => (json.is_some() || text.is_some() || base64.is_some()).then_some("application/json"),
    }
}

fn impersonation(step: &Step) -> Vec<(String, String)> {
    let Some(user) = &step.user else { return Vec::new() };
    let mut headers = vec![("Impersonate-User".to_owned(), user.name.clone())];
    headers.extend(user.groups.iter().map(|group| ("Impersonate-Group".to_owned(), group.clone())));
    headers.extend(user.uid.iter().map(|uid| ("Impersonate-Uid".to_owned(), uid.clone())));
    headers.extend(user.extra.iter().map(|(key, value)| (format!("Impersonate-Extra-{key}"), value.clone())));
    headers
}

fn body(body: &case::Body, variables: &Variables) -> Result<Vec<u8>> {
    let case::Body { json, text, base64 } = body;
    ensure!(
        [json.is_some(), text.is_some(), base64.is_some()].into_iter().filter(|it| *it).count() <= 1,
        "a request has one body"
    );
    if let Some(text) = text {
        return Ok(variables.fill(text).into_bytes());
    }
    if let Some(base64) = base64 {
        return Ok(serde_json::from_value::<ByteString>(json!(base64))?.0);
    }
    let written = |value| serde_json::to_vec(&variables.fill_value(value));
    Ok(json.as_ref().map(written).transpose()?.unwrap_or_default())
}

fn headers_of(headers: &HeaderMap) -> Map<String, Value> {
    let mut compared = Map::new();
    for name in COMPARED {
        let values: Vec<_> =
            headers.get_all(*name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        match values.as_slice() {
            [] => {}
            [one] => drop(compared.insert((*name).to_owned(), json!(one))),
            many => drop(compared.insert((*name).to_owned(), json!(many))),
        }
    }
    compared
}

fn body_of(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(bytes)))
}
