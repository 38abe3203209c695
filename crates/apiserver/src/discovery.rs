//! What clients ask first: which groups, versions and resources there are. Two forms of the same answer, the older one
//! document by document, the newer one all at once.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest;
use serde_json::{Map, Value, json};

use crate::identity::api_version;
use crate::registry::Registry;
use crate::resource::{Resource, Subresource, Verb};

/// `/api`
pub fn core_versions(server_address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}],
    })
}

/// `/apis`
pub fn groups(registry: &Registry) -> Value {
    let groups: Vec<Value> =
        named_groups(registry).map(|(name, versions)| group_entry(name, &versions)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`
pub fn group(registry: &Registry, name: &str) -> Option<Value> {
    let (name, versions) = named_groups(registry).find(|(group, _)| *group == name)?;
    let mut group = group_entry(name, &versions);
    group["kind"] = "APIGroup".into();
    group["apiVersion"] = "v1".into();
    Some(group)
}

fn named_groups(registry: &Registry) -> impl Iterator<Item = (&str, Vec<&str>)> {
    registry.groups().into_iter().filter(|(name, _)| !name.is_empty())
}

fn group_entry(name: &str, versions: &[&str]) -> Value {
    let entry = |version: &&str| json!({"groupVersion": api_version(name, version), "version": version});
    let versions: Vec<Value> = versions.iter().map(entry).collect();
    let preferred = versions.first().cloned().unwrap_or_default();
    json!({"name": name, "versions": versions, "preferredVersion": preferred})
}

/// `/api/v1` and `/apis/GROUP/VERSION`
pub fn resources(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let mut resources: Vec<Value> = Vec::new();
    for resource in registry.of_version(group, version) {
        resources.push(resource_entry(resource));
        resources.extend(resource.subresources.iter().map(|part| subresource_entry(resource, part)));
    }
    if resources.is_empty() {
        return None;
    }
    let mut list = json!({
        "kind": "APIResourceList",
        "groupVersion": api_version(group, version),
        "resources": resources,
    });
    if !group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    Some(list)
}

fn resource_entry(resource: &Resource) -> Value {
    let mut entry = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.is_namespaced,
        "kind": resource.kind,
        "verbs": verbs(resource, resource.verbs),
    });
    add_names(&mut entry, resource);
    if resource.allows(Verb::List) {
        entry["storageVersionHash"] = storage_version_hash(resource).into();
    }
    entry
}

fn subresource_entry(resource: &Resource, part: &Subresource) -> Value {
    let mut entry = json!({
        "name": format!("{}/{}", resource.plural, part.name),
        "singularName": "",
        "namespaced": resource.is_namespaced,
        "kind": part.kind.map_or(resource.kind.as_str(), |(_, _, kind)| kind),
        "verbs": verbs(resource, part.verbs),
    });
    if let Some((group, version, _)) = part.kind.filter(|(group, ..)| !group.is_empty()) {
        entry["group"] = group.into();
        entry["version"] = version.into();
    }
    entry
}

/// Definitions list their verbs in another order than Kubernetes' own kinds. Clients do not mind; people who compare do.
fn verbs(resource: &Resource, verbs: &[Verb]) -> Vec<&'static str> {
    let place = |verb: &Verb| match verb {
        Verb::Create if !resource.is_built_in() => 10 * Verb::Patch as u8 + 1,
        other => 10 * (*other as u8),
    };
    let mut verbs: Vec<Verb> = verbs.to_vec();
    verbs.sort_by_key(place);
    verbs.into_iter().map(Verb::name).collect()
}

fn add_names(entry: &mut Value, resource: &Resource) {
    for (field, names) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !names.is_empty() {
            entry[field] = names.clone().into();
        }
    }
}

/// By which clients see that a resource is stored in another version than before.
fn storage_version_hash(resource: &Resource) -> String {
    let (group, version) = match resource.stored_as().as_str() {
        "events" => ("", "v1"),
        // Kubernetes still stores its definitions as it did before they were v1.
        "customresourcedefinitions.apiextensions.k8s.io" => (resource.group.as_str(), "v1beta1"),
        _ => (
            resource.group.as_str(),
            resource.defined().map_or(resource.version.as_str(), |it| it.storage_version()),
        ),
    };
    let hash = digest::digest(&digest::SHA256, format!("{group}/{version}/{}", resource.kind).as_bytes());
    STANDARD.encode(&hash.as_ref()[..8])
}

/// The answer to `/api` or `/apis` for clients that take everything at once.
pub fn aggregated(registry: &Registry, core: bool) -> Value {
    let groups = registry.groups().into_iter().filter(|(name, _)| name.is_empty() == core);
    let items: Vec<Value> =
        groups.map(|(name, versions)| aggregated_group(registry, name, &versions)).collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn aggregated_group(registry: &Registry, name: &str, versions: &[&str]) -> Value {
    let version = |version: &&str| {
        let resources: Vec<Value> =
            registry.of_version(name, version).map(|it| aggregated_resource(it)).collect();
        json!({"version": version, "resources": resources, "freshness": "Current"})
    };
    let versions: Vec<Value> = versions.iter().map(version).collect();
    let metadata = if name.is_empty() { json!({}) } else { json!({"name": name}) };
    json!({"metadata": metadata, "versions": versions})
}

fn aggregated_resource(resource: &Resource) -> Value {
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": response_kind(resource, None),
        "scope": if resource.is_namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": verbs(resource, resource.verbs),
    });
    add_names(&mut entry, resource);
    if !resource.subresources.is_empty() {
        let part = |part: &Subresource| {
            json!({
                "subresource": part.name,
                "responseKind": response_kind(resource, part.kind),
                "verbs": verbs(resource, part.verbs),
            })
        };
        entry["subresources"] = resource.subresources.iter().map(part).collect();
    }
    entry
}

/// Kubernetes' own kinds leave out the group and version of the document they stand in.
fn response_kind(resource: &Resource, other: Option<(&str, &str, &str)>) -> Value {
    let (group, version, kind) = match other {
        Some(("", _, kind)) => ("", "", kind),
        Some(other) => other,
        None if resource.is_built_in() => ("", "", resource.kind.as_str()),
        None => (resource.group.as_str(), resource.version.as_str(), resource.kind.as_str()),
    };
    let fields = [("group", group), ("version", version), ("kind", kind)];
    fields.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect::<Map<_, Value>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_listed_with_its_parts() {
        let list = resources(&Registry::new(), "", "v1").unwrap();
        let names: Vec<&str> =
            list["resources"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
        let at = names.iter().position(|name| *name == "namespaces").unwrap();
        assert_eq!(names[at..at + 3], ["namespaces", "namespaces/finalize", "namespaces/status"]);
        assert_eq!(resources(&Registry::new(), "", "v2"), None);
    }

    #[test]
    fn hashes_are_those_of_kubernetes() {
        let list = resources(&Registry::new(), "", "v1").unwrap();
        let pods = list["resources"].as_array().unwrap().iter().find(|it| it["name"] == "pods").unwrap();
        assert_eq!(pods["storageVersionHash"], "xPOwRZ+Yhw8=");
    }

    #[test]
    fn both_forms_know_the_same_groups() {
        let registry = Registry::new();
        let old = groups(&registry)["groups"].as_array().unwrap().len();
        assert_eq!(aggregated(&registry, false)["items"].as_array().unwrap().len(), old);
        assert_eq!(aggregated(&registry, true)["items"].as_array().unwrap().len(), 1);
    }
}
