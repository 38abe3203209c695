//! The cells of role bindings, of a namespace and of the cluster.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::reading::{items, name, text};

pub(super) fn cells(object: &Value, now: Timestamp) -> Value {
    json!([
        name(object),
        format!("{}/{}", text(object, "/roleRef/kind"), text(object, "/roleRef/name")),
        age::of(object, now),
        subjects(object, "User"),
        subjects(object, "Group"),
        subjects(object, "ServiceAccount"),
    ])
}

fn subjects(object: &Value, kind: &str) -> String {
    let subjects = items(object, "/subjects").filter(|subject| text(subject, "/kind") == kind);
    let names: Vec<String> = subjects
        .map(|subject| match kind {
            "ServiceAccount" => format!("{}/{}", text(subject, "/namespace"), text(subject, "/name")),
            _ => text(subject, "/name").to_owned(),
        })
        .collect();
    names.join(", ")
}
