//! `cargo xtask vendor`: copies the Kubernetes definitions that our schemas embed out of the pinned Kubernetes module.
//! Only data is taken: the published OpenAPI definitions, without their descriptions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use crate::{command, terminal, workspace};

const TARGET: &str = "crates/types/kubernetes/definitions.json";
const DOCUMENTS: [&str; 2] = ["api__v1_openapi.json", "apis__networking.k8s.io__v1_openapi.json"];
const ROOTS: [&str; 4] = [
    "io.k8s.api.core.v1.PersistentVolumeClaimSpec",
    "io.k8s.api.core.v1.PodSpec",
    "io.k8s.api.networking.v1.NetworkPolicyEgressRule",
    "io.k8s.api.networking.v1.NetworkPolicyIngressRule",
];

pub(crate) fn run() -> Result<()> {
    let published = published(&module()?)?;
    let mut taken = BTreeMap::new();
    for root in ROOTS {
        take(root, &published, &mut taken)?;
    }
    let text = serde_json::to_string_pretty(&taken).context("writing the definitions as JSON")? + "\n";
    fs::write(workspace::root().join(TARGET), text).with_context(|| format!("writing {TARGET}"))?;
    terminal::note(&format!("wrote {} definitions to {TARGET}", taken.len()));
    Ok(())
}

/// The folder of the pinned Kubernetes module, downloaded if need be.
fn module() -> Result<PathBuf> {
    let folder = workspace::root().join("xtask/parts/kubernetes");
    let said = command::output(&folder, "go", &["mod", "download", "-json", "k8s.io/kubernetes"])?;
    let answer: Value = serde_json::from_str(&said).context("reading what go says of the module")?;
    Ok(answer["Dir"].as_str().context("go did not say where the module is")?.into())
}

fn published(module: &Path) -> Result<Map<String, Value>> {
    let mut definitions = Map::new();
    for document in DOCUMENTS {
        let path = module.join("api/openapi-spec/v3").join(document);
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
    taken.insert(name.to_owned(), undescribed(definition));
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
    fn a_definition_brings_what_it_refers_to_and_no_descriptions() {
        let published = json!({
            "a": {"description": "text", "properties": {"b": {"allOf": [{"$ref": "#/components/schemas/b"}]}}},
            "b": {"properties": {"description": {"type": "string", "description": "text"}}},
            "c": {"type": "string"},
        });
        let mut taken = BTreeMap::new();
        take("a", published.as_object().unwrap(), &mut taken).unwrap();
        assert_eq!(taken.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(taken["b"], json!({"properties": {"description": {"type": "string"}}}));
        assert_eq!(taken["a"].get("description"), None);
    }
}
