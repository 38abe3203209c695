//! A request of the operator, taken apart.

use asb_core::write::Kind;
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;

use crate::object::text;
use crate::store::Deletion;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Kind(Kind),
    Nodes,
    Events,
    Leases,
}

#[derive(Clone, Debug)]
pub(crate) enum Verb {
    List { limit: Option<usize>, after: Option<String> },
    Watch { from: u64, seconds: u64 },
    Get,
    Create,
    Replace,
    Patch { is_status: bool },
    Delete(Deletion),
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) resource: Resource,
    /// Empty where all objects are meant.
    pub(crate) name: String,
    pub(crate) verb: Verb,
    pub(crate) body: Value,
}

impl Call {
    pub(crate) async fn read(request: Request<Body>) -> Self {
        let (head, body) = request.into_parts();
        let body = body.collect().await.expect("a body in memory").to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (resource, name, is_status) = place(head.uri.path());
        let query = |field: &str| parameter(head.uri.query().unwrap_or_default(), field);
        let verb = match head.method {
            Method::GET if query("watch").is_some() => Verb::Watch {
                from: query("resourceVersion").and_then(|text| text.parse().ok()).unwrap_or_default(),
                seconds: query("timeoutSeconds").and_then(|text| text.parse().ok()).unwrap_or(300),
            },
            Method::GET if name.is_empty() => {
                let limit = query("limit").and_then(|text| text.parse().ok());
                Verb::List { limit, after: query("continue") }
            }
            Method::GET => Verb::Get,
            Method::POST => Verb::Create,
            Method::PUT => Verb::Replace,
            Method::PATCH => Verb::Patch { is_status },
            Method::DELETE => Verb::Delete(deletion(&body)),
            other => panic!("nobody here answers {other}"),
        };
        let name = if name.is_empty() { crate::object::name(&body).to_owned() } else { name };
        Self { resource, name, verb, body }
    }

    pub(crate) fn is_write(&self) -> bool {
        matches!(self.verb, Verb::Create | Verb::Replace | Verb::Patch { .. } | Verb::Delete(_))
    }

    /// What it does, for people.
    pub(crate) fn describe(&self) -> String {
        match &self.verb {
            Verb::Create => "creates".to_owned(),
            Verb::Replace => "replaces".to_owned(),
            Verb::Patch { is_status: false } => format!("patches {} in", text(&self.body)),
            Verb::Patch { is_status: true } => format!("reports {} in", text(&self.body["status"])),
            Verb::Delete(_) => "deletes".to_owned(),
            other => format!("asks {other:?} of"),
        }
    }
}

/// The resource, the name and whether the status is meant.
fn place(path: &str) -> (Resource, String, bool) {
    let mut parts = path.trim_matches('/').split('/');
    let groups = if parts.next() == Some("apis") { 2 } else { 1 };
    let mut parts = parts.skip(groups).peekable();
    if parts.next_if_eq(&"namespaces").is_some() {
        parts.next();
    }
    let resource = match parts.next().unwrap_or_default() {
        "nodes" => Resource::Nodes,
        "events" => Resource::Events,
        "leases" => Resource::Leases,
        plural => {
            let kind = Kind::ALL.into_iter().find(|kind| kind.plural() == plural);
            Resource::Kind(kind.unwrap_or_else(|| panic!("nobody here serves {path}")))
        }
    };
    (resource, parts.next().unwrap_or_default().to_owned(), parts.next() == Some("status"))
}

/// Nothing that is asked for here needs to be escaped.
fn parameter(query: &str, field: &str) -> Option<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(name, _)| *name == field).map(|(_, value)| value.to_owned())
}

fn deletion(body: &Value) -> Deletion {
    let conditions = &body["preconditions"];
    Deletion {
        uid: conditions["uid"].as_str().map(str::to_owned),
        version: conditions["resourceVersion"].as_str().and_then(|text| text.parse().ok()),
        is_foreground: body["propagationPolicy"] == "Foreground",
        is_forced: body["gracePeriodSeconds"] == 0,
    }
}
