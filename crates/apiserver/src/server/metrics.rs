//! `metrics.k8s.io`: what Pods and nodes use, measured when somebody asks. Which there are, and who may see them, is as with
//! Pods and nodes themselves; only what is measured comes from whoever runs the Pods. Nothing is stored, nothing can be
//! watched.

use std::collections::HashMap;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Response};
use serde_json::{Value, json};

use super::handler::Exchange;
use super::reply;
use crate::api::Target;
use crate::identity::GroupResource;
use crate::negotiation::Choice;
use crate::options::ListOptions;
use crate::path::ResourcePath;
use crate::status::Status;
use crate::streaming::{Amounts, Error, NodeUsage};

pub(super) const GROUP: &str = "metrics.k8s.io";
const VERSION: &str = "v1beta1";
const API_VERSION: &str = "metrics.k8s.io/v1beta1";

/// The resources: plural, kind, whether they are in namespaces.
const RESOURCES: [(&str, &str, bool); 2] = [("nodes", "NodeMetrics", false), ("pods", "PodMetrics", true)];

/// Whether the server has this group at all.
pub(super) fn are_served(exchange: &Exchange<'_>) -> bool {
    exchange.server.streams.is_metered()
}

/// An entry of `/apis`.
pub(super) fn group() -> Value {
    let version = json!({"groupVersion": API_VERSION, "version": VERSION});
    json!({"name": GROUP, "versions": [version], "preferredVersion": version})
}

/// `/apis/metrics.k8s.io/v1beta1`
pub(super) fn resources(version: &str) -> Option<Value> {
    let entry = |(plural, kind, is_namespaced): &(&str, &str, bool)| json!({"name": plural, "singularName": "", "namespaced": is_namespaced, "kind": kind, "verbs": ["get", "list"]});
    let resources: Vec<Value> = RESOURCES.iter().map(entry).collect();
    let list = json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": API_VERSION, "resources": resources,
    });
    (version == VERSION).then_some(list)
}

/// The same for clients that take everything at once.
pub(super) fn aggregated() -> Value {
    let entry = |(plural, kind, is_namespaced): &(&str, &str, bool)| {
        json!({
            "resource": plural,
            "responseKind": {"group": GROUP, "version": VERSION, "kind": kind},
            "scope": if *is_namespaced { "Namespaced" } else { "Cluster" },
            "singularResource": "",
            "verbs": ["get", "list"],
        })
    };
    let resources: Vec<Value> = RESOURCES.iter().map(entry).collect();
    let version = json!({"version": VERSION, "resources": resources, "freshness": "Current"});
    json!({"metadata": {"name": GROUP}, "versions": [version]})
}

pub(super) async fn serve(exchange: &Exchange<'_>, path: &ResourcePath) -> Result<Response<Body>, Status> {
    let known = RESOURCES.iter().find(|(plural, ..)| *plural == path.resource);
    let is_misplaced = |is_namespaced: bool| match &path.namespace {
        Some(_) => !is_namespaced,
        None => is_namespaced && path.name.is_some(),
    };
    let found = known.filter(|(.., is_namespaced)| {
        path.version == VERSION && path.subresource.is_none() && !is_misplaced(*is_namespaced)
    });
    let (_, kind, _) = found.ok_or_else(Status::no_such_path)?;
    if exchange.parts.method != Method::GET || path.is_watch {
        return Err(Status::method_not_allowed());
    }
    let style = exchange.style(Choice::Whole)?;
    let options = ListOptions::parse(&exchange.query)?;
    let mut items = measured(exchange, path, &options).await?;
    let Some(name) = &path.name else {
        let list =
            json!({"kind": format!("{kind}List"), "apiVersion": API_VERSION, "metadata": {}, "items": items});
        return Ok(reply::object(200, &list, style));
    };
    let mut item = items.pop().ok_or_else(|| {
        let resource = GroupResource::new(GROUP, &path.resource);
        Status::not_found(&resource, &qualified(path.namespace.as_deref(), name))
    })?;
    (item["kind"], item["apiVersion"]) = ((*kind).into(), API_VERSION.into());
    Ok(reply::object(200, &item, style))
}

/// As metrics servers name a Pod that they have not measured.
fn qualified(namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

/// Those of the objects themselves that were measured, in their order.
async fn measured(
    exchange: &Exchange<'_>,
    path: &ResourcePath,
    options: &ListOptions,
) -> Result<Vec<Value>, Status> {
    let objects = objects(exchange, path, options)?;
    let streams = &exchange.server.streams;
    let failed = |error: Error| Status::internal(&error.to_string());
    let now = jiff::Timestamp::now();
    if path.resource == "nodes" {
        let usage = streams.node_usage().await.map_err(failed)?;
        return Ok(objects.iter().map(|node| of_node(node, usage, now)).collect());
    }
    let usage = streams.usage(path.namespace.as_deref()).await.map_err(failed)?;
    let key = |namespace: &str, name: &str| (namespace.to_owned(), name.to_owned());
    let by_name: HashMap<_, _> = usage.iter().map(|it| (key(&it.pod.namespace, &it.pod.name), it)).collect();
    let text =
        |object: &Value, field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    let pods = objects.iter().filter_map(|pod| {
        let found = by_name.get(&(text(pod, "namespace"), text(pod, "name")))?;
        let entry = |(name, used): &(String, Amounts)| json!({"name": name, "usage": amounts(*used)});
        let mut item = reading(pod, found.window, now);
        item["containers"] = found.containers.iter().map(entry).collect();
        Some(item)
    });
    Ok(pods.collect())
}

fn of_node(node: &Value, usage: NodeUsage, now: jiff::Timestamp) -> Value {
    let mut item = reading(node, usage.window, now);
    item["usage"] = amounts(usage.amounts);
    item
}

/// The Pods or nodes that are asked for.
fn objects(
    exchange: &Exchange<'_>,
    path: &ResourcePath,
    options: &ListOptions,
) -> Result<Vec<Value>, Status> {
    let api = &exchange.server.api;
    let registry = api.registry();
    let resource = registry.find("", "v1", &path.resource).ok_or_else(Status::no_such_path)?;
    let target =
        Target { resource, namespace: path.namespace.as_deref(), subresource: None, agent: exchange.agent() };
    if let Some(name) = &path.name {
        return Ok(vec![api.get(&target, name)?.text.value()]);
    }
    let all = ListOptions { limit: 0, continuation: None, ..options.clone() };
    Ok(api.list(&target, &all)?.entries.iter().map(|entry| entry.text.value()).collect())
}

fn reading(object: &Value, window: Duration, now: jiff::Timestamp) -> Value {
    let time = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let mut metadata = json!({"name": object["metadata"]["name"], "creationTimestamp": time});
    for field in ["namespace", "labels"] {
        if let Some(value) = object["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    json!({"metadata": metadata, "timestamp": time, "window": format!("{:.3}s", window.as_secs_f64())})
}

fn amounts(used: Amounts) -> Value {
    json!({"cpu": format!("{}n", used.cpu_nano), "memory": format!("{}Ki", used.memory_bytes >> 10)})
}
