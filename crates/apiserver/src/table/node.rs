//! The cells of nodes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::reading::{fields, flag, items, name, text, text_or};

pub(super) fn cells(node: &Value, now: Timestamp) -> Value {
    json!([
        name(node),
        status(node),
        roles(node),
        age::of(node, now),
        text(node, "/status/nodeInfo/kubeletVersion"),
        address(node, "InternalIP"),
        address(node, "ExternalIP"),
        text_or(node, "/status/nodeInfo/osImage", "<unknown>"),
        kernel(node),
        text_or(node, "/status/nodeInfo/containerRuntimeVersion", "<unknown>"),
    ])
}

fn status(node: &Value) -> String {
    let ready = items(node, "/status/conditions").rfind(|condition| text(condition, "/type") == "Ready");
    let ready = match ready.map(|condition| text(condition, "/status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let disabled = if flag(node, "/spec/unschedulable") { ",SchedulingDisabled" } else { "" };
    format!("{ready}{disabled}")
}

fn roles(node: &Value) -> String {
    let labels = fields(node, "/metadata/labels").into_iter().flatten();
    let roles: BTreeSet<&str> = labels.filter_map(|(key, value)| role(key, value)).collect();
    if roles.is_empty() { "<none>".to_owned() } else { Vec::from_iter(roles).join(",") }
}

fn role<'a>(label: &'a str, value: &'a Value) -> Option<&'a str> {
    let role = match label.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => role,
        None if label == "kubernetes.io/role" => value.as_str()?,
        None => return None,
    };
    Some(role).filter(|role| !role.is_empty())
}

fn address<'a>(node: &'a Value, kind: &str) -> &'a str {
    let address = items(node, "/status/addresses").find(|address| text(address, "/type") == kind);
    address.map_or("<none>", |address| text(address, "/address"))
}

fn kernel(node: &Value) -> String {
    let version = text_or(node, "/status/nodeInfo/kernelVersion", "<unknown>");
    match text(node, "/status/nodeInfo/architecture") {
        "" => version.to_owned(),
        architecture => format!("{version} ({architecture})"),
    }
}
