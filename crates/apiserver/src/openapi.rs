//! OpenAPI v3 of what is served, one document for each group and version: what `kubectl explain` shows, and what
//! `kubectl apply` reads to know which parameters the server takes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ring::digest;
use serde_json::{Map, Value, json};

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
    context.finish().as_ref().iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02X}").expect("text can always be added to");
        text
    })
}

/// `/openapi/v3/api/v1` and `/openapi/v3/apis/GROUP/VERSION`
pub fn document(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let resources: Vec<&Resource> = registry.of_version(group, version).map(AsRef::as_ref).collect();
    if resources.is_empty() {
        return None;
    }
    let mut paths = BTreeMap::new();
    let mut roots: BTreeSet<String> =
        ["DeleteOptions", "Patch", "Status", "WatchEvent"].map(|name| format!("{META}.{name}")).into();
    let mut schemas = Map::new();
    let published = published_definitions();
    for resource in &resources {
        paths.extend(resource_paths(resource));
        roots.extend(referenced(resource, &published, &mut schemas));
    }
    close(&roots, &published, &mut schemas);
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": "Agent Sandbox", "version": env!("CARGO_PKG_VERSION")},
        "paths": paths,
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

fn resource_paths(resource: &Resource) -> Vec<(String, Value)> {
    let root = match resource.group.as_str() {
        "" => format!("/api/{}", resource.version),
        group => format!("/apis/{group}/{}", resource.version),
    };
    let (place, scope): (String, &[&str]) = if resource.is_namespaced {
        (format!("{root}/namespaces/{{namespace}}/{}", resource.plural), &["namespace"])
    } else {
        (format!("{root}/{}", resource.plural), &[])
    };
    let named: Vec<&str> = ["name"].iter().chain(scope).copied().collect();
    let mut paths = Vec::new();
    if resource.is_namespaced && resource.allows(Verb::List) {
        paths.push((format!("{root}/{}", resource.plural), path_item(resource, None, &[Verb::List], &[])));
    }
    let on_collection = [Verb::List, Verb::Create, Verb::DeleteCollection];
    paths.push((place.clone(), path_item(resource, None, &allowed(resource.verbs, &on_collection), scope)));
    let on_object = [Verb::Get, Verb::Update, Verb::Patch, Verb::Delete];
    let on_object = allowed(resource.verbs, &on_object);
    if !on_object.is_empty() {
        paths.push((format!("{place}/{{name}}"), path_item(resource, None, &on_object, &named)));
    }
    for part in &resource.subresources {
        let item = path_item(resource, Some(part), part.verbs, &named);
        paths.push((format!("{place}/{{name}}/{}", part.name), item));
    }
    paths
}

fn allowed(verbs: &[Verb], some: &[Verb]) -> Vec<Verb> {
    some.iter().copied().filter(|verb| verbs.contains(verb)).collect()
}

fn path_item(resource: &Resource, part: Option<&Subresource>, verbs: &[Verb], in_path: &[&str]) -> Value {
    let mut item = Map::new();
    for verb in verbs {
        let method = match verb {
            Verb::Get | Verb::List | Verb::Watch => "get",
            Verb::Create => "post",
            Verb::Update => "put",
            Verb::Patch => "patch",
            Verb::Delete | Verb::DeleteCollection => "delete",
        };
        item.insert(method.to_owned(), operation(resource, part, *verb));
    }
    let parameter = |name: &&str| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "uniqueItems": true}});
    if !in_path.is_empty() {
        item.insert("parameters".to_owned(), in_path.iter().map(parameter).collect());
    }
    item.into()
}

fn operation(resource: &Resource, part: Option<&Subresource>, verb: Verb) -> Value {
    let answer = match (part, verb) {
        (None, Verb::List) => definition(resource, &resource.list_kind),
        (None, Verb::Delete | Verb::DeleteCollection) => format!("{META}.Status"),
        (None, _) => definition(resource, &resource.kind),
        (Some(part), _) => part_definition(resource, part).unwrap_or_default(),
    };
    let kind = match part.and_then(|part| part.kind) {
        Some((group, version, kind)) => json!({"group": group, "version": version, "kind": kind}),
        None => json!({"group": resource.group, "version": resource.version, "kind": resource.kind}),
    };
    let mut operation = json!({
        "operationId": operation_id(resource, part, verb),
        "responses": {
            "200": {"description": "OK", "content": content(&answer, &["application/json", "application/yaml"])},
            "401": {"description": "Unauthorized"},
        },
        "x-kubernetes-action": action(part, verb),
        "x-kubernetes-group-version-kind": kind,
    });
    let parameters: Vec<Value> =
        parameters(verb).iter().map(|(name, kind)| query_parameter(name, kind)).collect();
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = body(resource, &answer, verb) {
        operation["requestBody"] = body;
    }
    operation
}

fn action(part: Option<&Subresource>, verb: Verb) -> &'static str {
    match verb {
        Verb::Create if part.is_some_and(|part| part.verbs.contains(&Verb::Get)) => "connect",
        Verb::Create => "post",
        Verb::Update => "put",
        other => other.name(),
    }
}

fn operation_id(resource: &Resource, part: Option<&Subresource>, verb: Verb) -> String {
    let words =
        [verb.name(), &resource.group, &resource.version, &resource.kind, part.map_or("", |part| part.name)];
    let capital = |word: &str| -> String {
        let mut characters = word.chars();
        characters.next().into_iter().flat_map(char::to_uppercase).chain(characters).collect()
    };
    let parts = words.iter().flat_map(|word| word.split(['.', '-'])).filter(|word| !word.is_empty());
    parts.enumerate().map(|(at, word)| if at == 0 { word.to_owned() } else { capital(word) }).collect()
}

fn content(definition: &str, types: &[&str]) -> Value {
    if definition.is_empty() {
        return json!({});
    }
    types
        .iter()
        .map(|media| ((*media).to_owned(), json!({"schema": reference(definition)})))
        .collect::<Map<_, _>>()
        .into()
}

fn body(resource: &Resource, sent: &str, verb: Verb) -> Option<Value> {
    let json_and_yaml = ["application/json", "application/yaml"];
    let (content, required) = match verb {
        Verb::Create | Verb::Update if !sent.is_empty() => (content(sent, &json_and_yaml), true),
        Verb::Delete | Verb::DeleteCollection => {
            (content(&format!("{META}.DeleteOptions"), &json_and_yaml), false)
        }
        Verb::Patch => {
            let mut types = vec![
                "application/apply-patch+yaml",
                "application/json-patch+json",
                "application/merge-patch+json",
            ];
            types.extend(resource.is_built_in().then_some("application/strategic-merge-patch+json"));
            (content(&format!("{META}.Patch"), &types), true)
        }
        _ => return None,
    };
    Some(json!({"content": content, "required": required}))
}

fn parameters(verb: Verb) -> &'static [(&'static str, &'static str)] {
    match verb {
        Verb::List | Verb::DeleteCollection | Verb::Watch => &[
            ("allowWatchBookmarks", "boolean"),
            ("continue", "string"),
            ("fieldSelector", "string"),
            ("labelSelector", "string"),
            ("limit", "integer"),
            ("resourceVersion", "string"),
            ("resourceVersionMatch", "string"),
            ("sendInitialEvents", "boolean"),
            ("timeoutSeconds", "integer"),
            ("watch", "boolean"),
        ],
        Verb::Create | Verb::Update => {
            &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string")]
        }
        Verb::Patch => &[
            ("dryRun", "string"),
            ("fieldManager", "string"),
            ("fieldValidation", "string"),
            ("force", "boolean"),
        ],
        Verb::Delete => &[
            ("dryRun", "string"),
            ("gracePeriodSeconds", "integer"),
            ("orphanDependents", "boolean"),
            ("propagationPolicy", "string"),
        ],
        Verb::Get => &[],
    }
}

fn query_parameter(name: &str, kind: &str) -> Value {
    json!({"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": true}})
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

    #[test]
    fn a_patch_says_that_it_takes_field_validation() {
        let document = document(&Registry::new(), "", "v1").unwrap();
        let patch = &document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"];
        assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Pod");
        let names: Vec<_> =
            patch["parameters"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
        assert!(names.contains(&json!("fieldValidation")), "{names:?}");
    }
}
