//! The objects of a manifest, by what they are and what they are called.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

#[derive(Debug, PartialEq)]
pub(crate) struct Objects(BTreeMap<String, Value>);

impl Objects {
    pub(crate) fn of(manifest: &str) -> Result<Self> {
        let objects: Vec<Value> = serde_saphyr::from_multiple(manifest)?;
        let named = objects.into_iter().filter(|object| !object.is_null()).map(|object| {
            let metadata = &object["metadata"];
            let place = [&object["kind"], &metadata["namespace"], &metadata["name"]];
            (place.map(|part| part.as_str().unwrap_or("-")).join(" "), object)
        });
        Ok(Self(named.collect()))
    }

    pub(crate) fn of_release(name: &str) -> Result<Self> {
        Self::of(&fs::read_to_string(crate::release(name))?)
    }

    pub(crate) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> Option<&Value> {
        let is_it =
            |key: &&String| key.starts_with(&format!("{kind} ")) && key.ends_with(&format!(" {name}"));
        self.0.keys().find(is_it).and_then(|key| self.0.get(key))
    }

    pub(crate) fn take(&self, kind: &str, name: &str) -> Result<Value> {
        self.get(kind, name)
            .cloned()
            .with_context(|| format!("no {kind} {name}; there are {:?}", self.names()))
    }

    /// Without what Helm says of itself.
    pub(crate) fn without_helm(mut self) -> Self {
        for object in self.0.values_mut() {
            for part in ["labels", "annotations"] {
                let entries = object["metadata"].get_mut(part).and_then(Value::as_object_mut);
                let Some(entries) = entries else { continue };
                entries
                    .retain(|key, _| !key.starts_with("helm.sh/") && !key.starts_with("app.kubernetes.io/"));
                if entries.is_empty() {
                    object["metadata"].as_object_mut().map(|metadata| metadata.remove(part));
                }
            }
        }
        self
    }

    /// What differs, object by object, for people to read.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let keys: std::collections::BTreeSet<_> = self.0.keys().chain(other.0.keys()).collect();
        let pairs = keys.into_iter().map(|key| (key, self.0.get(key), other.0.get(key)));
        pairs
            .filter(|(_, here, there)| here != there)
            .map(|(key, here, there)| format!("{key}:\n{}\n{}", brief(here), brief(there)))
            .collect()
    }
}

/// A definition is longer than anybody reads.
fn brief(object: Option<&Value>) -> String {
    object.map_or_else(|| "absent".to_owned(), |object| object.to_string().chars().take(2000).collect())
}
