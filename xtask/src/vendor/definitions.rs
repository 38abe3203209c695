//! The published OpenAPI definitions: which our schemas and the embedded API server build on, and all they refer to.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use crate::{terminal, workspace};

/// A file of definitions: these roots and all they refer to.
struct Selection {
    target: &'static str,
    roots: &'static [&'static str],
    /// Text for people, which `kubectl explain` shows and the schemas of our own kinds leave out.
    descriptions: bool,
}

const SELECTIONS: [Selection; 2] = [
    Selection {
        target: "crates/types/kubernetes/definitions.json",
        roots: &[
            "io.k8s.api.core.v1.PersistentVolumeClaimSpec",
            "io.k8s.api.core.v1.PodSpec",
            "io.k8s.api.networking.v1.NetworkPolicyEgressRule",
            "io.k8s.api.networking.v1.NetworkPolicyIngressRule",
        ],
        descriptions: false,
    },
    Selection {
        target: "crates/apiserver/kubernetes/definitions.json",
        roots: &[
            "io.k8s.api.authentication.v1.SelfSubjectReview",
            "io.k8s.api.authentication.v1.TokenRequest",
            "io.k8s.api.authentication.v1.TokenReview",
            "io.k8s.api.authorization.v1.LocalSubjectAccessReview",
            "io.k8s.api.authorization.v1.SelfSubjectAccessReview",
            "io.k8s.api.authorization.v1.SelfSubjectRulesReview",
            "io.k8s.api.authorization.v1.SubjectAccessReview",
            "io.k8s.api.autoscaling.v1.Scale",
            "io.k8s.api.coordination.v1.LeaseList",
            "io.k8s.api.core.v1.Binding",
            "io.k8s.api.core.v1.ConfigMapList",
            "io.k8s.api.core.v1.EndpointsList",
            "io.k8s.api.core.v1.EventList",
            "io.k8s.api.core.v1.NamespaceList",
            "io.k8s.api.core.v1.NodeList",
            "io.k8s.api.core.v1.PersistentVolumeClaimList",
            "io.k8s.api.core.v1.PersistentVolumeList",
            "io.k8s.api.core.v1.PodList",
            "io.k8s.api.core.v1.SecretList",
            "io.k8s.api.core.v1.ServiceAccountList",
            "io.k8s.api.core.v1.ServiceList",
            "io.k8s.api.discovery.v1.EndpointSliceList",
            "io.k8s.api.events.v1.EventList",
            "io.k8s.api.networking.v1.NetworkPolicyList",
            "io.k8s.api.node.v1.RuntimeClassList",
            "io.k8s.api.policy.v1.Eviction",
            "io.k8s.api.rbac.v1.ClusterRoleBindingList",
            "io.k8s.api.rbac.v1.ClusterRoleList",
            "io.k8s.api.rbac.v1.RoleBindingList",
            "io.k8s.api.rbac.v1.RoleList",
            "io.k8s.api.scheduling.v1.PriorityClassList",
            "io.k8s.api.storage.v1.StorageClassList",
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionList",
            "io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup",
            "io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList",
            "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
            "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
            "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
            "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent",
        ],
        descriptions: true,
    },
];

pub(super) fn write_all(module: &Path) -> Result<()> {
    let published = published(module)?;
    SELECTIONS.iter().try_for_each(|selection| write(selection, &published))
}

/// The definitions of what the embedded API server serves, as they were written last.
pub(super) fn served() -> Result<BTreeMap<String, Value>> {
    let [_, Selection { target, .. }] = SELECTIONS;
    let text =
        fs::read_to_string(workspace::root().join(target)).with_context(|| format!("reading {target}"))?;
    serde_json::from_str(&text).with_context(|| format!("reading {target}"))
}

fn write(selection: &Selection, published: &Map<String, Value>) -> Result<()> {
    let Selection { target, roots, descriptions } = selection;
    let mut taken = BTreeMap::new();
    roots.iter().try_for_each(|root| take(root, published, &mut taken))?;
    if !descriptions {
        for definition in taken.values_mut() {
            *definition = undescribed(definition);
        }
    }
    let text = serde_json::to_string_pretty(&taken).context("writing the definitions as JSON")? + "\n";
    fs::write(workspace::root().join(target), text).with_context(|| format!("writing {target}"))?;
    terminal::note(&format!("wrote {} definitions to {target}", taken.len()));
    Ok(())
}

fn published(module: &Path) -> Result<Map<String, Value>> {
    let mut definitions = Map::new();
    let folder = module.join("api/openapi-spec/v3");
    let mut documents: Vec<_> = fs::read_dir(&folder)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("reading {}", folder.display()))?;
    documents.sort_by_key(fs::DirEntry::file_name);
    for path in documents.iter().map(fs::DirEntry::path) {
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let mut parsed: Value =
            serde_json::from_str(&text).with_context(|| format!("reading {}", path.display()))?;
        if let Value::Object(schemas) = parsed["components"]["schemas"].take() {
            definitions.extend(schemas);
        }
    }
    Ok(definitions)
}

/// Takes a definition and all it refers to.
fn take(name: &str, published: &Map<String, Value>, taken: &mut BTreeMap<String, Value>) -> Result<()> {
    if taken.contains_key(name) {
        return Ok(());
    }
    let definition =
        published.get(name).with_context(|| format!("{name} is not among the published definitions"))?;
    taken.insert(name.to_owned(), definition.clone());
    references(definition).into_iter().try_for_each(|reference| take(reference, published, taken))
}

fn references(schema: &Value) -> Vec<&str> {
    match schema {
        Value::Object(fields) => {
            let own = fields.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
            own.into_iter().chain(fields.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => vec![],
    }
}

/// A description is text; a field of that name would be a schema and stays.
fn undescribed(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let kept =
                fields.iter().filter(|(name, value)| name.as_str() != "description" || !value.is_string());
            kept.map(|(name, value)| (name.clone(), undescribed(value))).collect()
        }
        Value::Array(items) => items.iter().map(undescribed).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_brings_what_it_refers_to() {
        let published = json!({
            "a": {"description": "text", "properties": {"b": {"allOf": [{"$ref": "#/components/schemas/b"}]}}},
            "b": {"properties": {"description": {"type": "string", "description": "text"}}},
            "c": {"type": "string"},
        });
        let mut taken = BTreeMap::new();
        take("a", published.as_object().unwrap(), &mut taken).unwrap();
        assert_eq!(taken.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(undescribed(&taken["b"]), json!({"properties": {"description": {"type": "string"}}}));
        assert_eq!(undescribed(&taken["a"]).get("description"), None);
    }
}
