//! OpenAPI v3 of what is served, one document for each group and version: what `kubectl explain` shows, and what
//! `kubectl apply` reads to know which parameters the server takes. From the same come the one document of OpenAPI v2
//! and its form in protobuf. All are made when they are asked for and not kept: they are large, and clients keep them.

mod paths;
mod protobuf;
mod swagger;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ring::digest;
use serde_json::{Map, Value, json};

pub use protobuf::encoded;
pub use swagger::swagger;

use crate::registry::{Registry, published_definitions};
use crate::resource::{Origin, Resource, Subresource, Verb};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// `/openapi/v3`: where each document is. Its address changes when it does, so that clients can keep what they have.
pub fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for (group, version) in group_versions(registry) {
        let path = document_path(group, version);
        let hash = hash(registry, group, version);
        paths.insert(path.clone(), json!({"serverRelativeURL": format!("/openapi/v3/{path}?hash={hash}")}));
    }
    json!({"paths": paths})
}

fn group_versions(registry: &Registry) -> impl Iterator<Item = (&str, &str)> {
    registry
        .groups()
        .into_iter()
        .flat_map(|(group, versions)| versions.into_iter().map(move |it| (group, it)))
}

fn document_path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// Changes whenever the document does.
pub fn hash(registry: &Registry, group: &str, version: &str) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(env!("CARGO_PKG_VERSION").as_bytes());
    for resource in registry.of_version(group, version) {
        context.update(resource.plural.as_bytes());
        if let Origin::Defined(defined) = &resource.origin {
            context.update(defined.version().open_api.json());
        }
    }
    hexadecimal(context)
}

/// Changes whenever any of the documents does.
pub fn hash_of_all(registry: &Registry) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    for (group, version) in group_versions(registry) {
        context.update(document_path(group, version).as_bytes());
        context.update(hash(registry, group, version).as_bytes());
    }
    hexadecimal(context)
}

fn hexadecimal(context: digest::Context) -> String {
    context.finish().as_ref().iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02X}").expect("text can always be added to");
        text
    })
}

/// `/openapi/v3/api/v1` and `/openapi/v3/apis/GROUP/VERSION`
pub fn document(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    document_with(registry, group, version, &published_definitions())
}

fn document_with(
    registry: &Registry,
    group: &str,
    version: &str,
    published: &Map<String, Value>,
) -> Option<Value> {
    let resources: Vec<&Resource> = registry.of_version(group, version).map(AsRef::as_ref).collect();
    if resources.is_empty() {
        return None;
    }
    let mut items = BTreeMap::new();
    let mut roots: BTreeSet<String> =
        ["DeleteOptions", "Patch", "Status", "WatchEvent"].map(|name| format!("{META}.{name}")).into();
    let mut schemas = Map::new();
    for resource in &resources {
        items.extend(paths::of_resource(resource));
        roots.extend(referenced(resource, published, &mut schemas));
    }
    close(&roots, published, &mut schemas);
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": "Agent Sandbox", "version": env!("CARGO_PKG_VERSION")},
        "paths": items,
        "components": {"schemas": schemas},
    }))
}

/// The name of a kind's definition.
fn definition(resource: &Resource, kind: &str) -> String {
    match &resource.origin {
        Origin::BuiltIn(package) => format!("{package}.{kind}"),
        Origin::Defined(_) => {
            let mut reversed: Vec<&str> = resource.group.split('.').collect();
            reversed.reverse();
            format!("{}.{}.{kind}", reversed.join("."), resource.version)
        }
    }
}

/// The definitions that the resource's operations name. Those of its own are added.
fn referenced(
    resource: &Resource,
    published: &Map<String, Value>,
    schemas: &mut Map<String, Value>,
) -> Vec<String> {
    let mut names = vec![definition(resource, &resource.kind)];
    if let Origin::Defined(defined) = &resource.origin {
        schemas.insert(
            definition(resource, &resource.kind),
            own_schema(resource, defined.version().open_api.value(), published),
        );
        schemas.insert(definition(resource, &resource.list_kind), list_schema(resource, published));
        names = ["ObjectMeta", "ListMeta"].map(|name| format!("{META}.{name}")).to_vec();
    } else if resource.allows(Verb::List) {
        names.push(definition(resource, &resource.list_kind));
    }
    names.extend(resource.subresources.iter().filter_map(|part| part_definition(resource, part)));
    names
}

/// Streams take parameters, not bodies, and have no definition.
fn part_definition(resource: &Resource, part: &Subresource) -> Option<String> {
    match part.kind {
        None => Some(definition(resource, &resource.kind)),
        Some((_, _, kind)) if kind.ends_with("Options") => None,
        Some(("", _, kind)) => Some(format!("io.k8s.api.core.v1.{kind}")),
        Some((group, version, kind)) => {
            Some(format!("io.k8s.api.{}.{version}.{kind}", group.trim_end_matches(".k8s.io")))
        }
    }
}

fn own_schema(resource: &Resource, schema: Value, published: &Map<String, Value>) -> Value {
    let mut schema = if schema.is_object() { schema } else { json!({"type": "object"}) };
    let properties = crate::object::child(&mut schema, "properties");
    properties.extend(common_properties(published, "io.k8s.api.core.v1.ConfigMap"));
    schema["x-kubernetes-group-version-kind"] = kinds(resource, &resource.kind);
    schema
}

fn list_schema(resource: &Resource, published: &Map<String, Value>) -> Value {
    let mut schema = json!({
        "type": "object",
        "description": format!("{} is a list of {}", resource.list_kind, resource.kind),
        "required": ["items"],
        "properties": {
            "items": {"type": "array", "items": reference(&definition(resource, &resource.kind))},
        },
        "x-kubernetes-group-version-kind": kinds(resource, &resource.list_kind),
    });
    crate::object::child(&mut schema, "properties")
        .extend(common_properties(published, "io.k8s.api.core.v1.ConfigMapList"));
    schema
}

/// What every kind has, in Kubernetes' words.
fn common_properties(published: &Map<String, Value>, of: &str) -> Vec<(String, Value)> {
    let properties = published.get(of).map(|definition| &definition["properties"]);
    let named = |name: &str| {
        let mut property = properties?.get(name)?.clone();
        property.as_object_mut()?.remove("default");
        Some((name.to_owned(), property))
    };
    ["apiVersion", "kind", "metadata"].into_iter().filter_map(named).collect()
}

fn kinds(resource: &Resource, kind: &str) -> Value {
    json!([{"group": resource.group, "version": resource.version, "kind": kind}])
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// Adds Kubernetes' own definitions that something refers to, and what those refer to.
fn close(roots: &BTreeSet<String>, published: &Map<String, Value>, schemas: &mut Map<String, Value>) {
    let mut wanted: Vec<String> = roots.iter().cloned().collect();
    while let Some(name) = wanted.pop() {
        if schemas.contains_key(&name) {
            continue;
        }
        let Some(definition) = published.get(&name) else { continue };
        collect_references(definition, &mut wanted);
        schemas.insert(name, definition.clone());
    }
}

fn collect_references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            let own = fields.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
            found.extend(own.map(str::to_owned));
            fields.values().for_each(|value| collect_references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_of_every_document_resolves() {
        let registry = Registry::new();
        for (group, version) in group_versions(&registry) {
            let document = document(&registry, group, version).unwrap();
            let mut references = Vec::new();
            collect_references(&document, &mut references);
            let schemas = document["components"]["schemas"].as_object().unwrap();
            let dangling: Vec<_> = references.iter().filter(|name| !schemas.contains_key(*name)).collect();
            assert!(dangling.is_empty(), "{group}/{version}: {dangling:?}");
        }
    }
}
