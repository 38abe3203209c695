//! What every object has: a key, an identity, a version, and perhaps an owner.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::write::Kind;

/// Where an object is found: its namespace and name. Another object may be found there tomorrow; see [`Uid`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl Key {
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// Another object in the same namespace.
    #[must_use]
    pub fn sibling(&self, name: &str) -> Self {
        Self { namespace: Arc::clone(&self.namespace), name: name.into() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Which object it is, whatever it is called. Only a UID proves that something is ours to change or delete.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(Arc<str>);

impl Uid {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Uid {
    fn from(uid: &str) -> Self {
        Self(uid.into())
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for Uid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A `metadata.resourceVersion`. Kubernetes promises that those of one kind grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Version(pub u64);

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The controller in an object's ownerReferences. Its version is left out: objects made long ago name an old one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub group: Arc<str>,
    pub kind: Arc<str>,
    pub name: Arc<str>,
    pub uid: Uid,
}

impl Owner {
    pub fn is(&self, kind: Kind) -> bool {
        &*self.group == kind.group() && &*self.kind == kind.name()
    }
}

/// Whose an object is, from the point of view of one that might own it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership<'a> {
    Ours,
    Nobodys,
    Anothers(&'a Owner),
}

/// What is kept of an object's metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    pub key: Key,
    pub uid: Uid,
    pub version: Version,
    pub generation: i64,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub owner: Option<Owner>,
    /// The ownerReferences other than the controller's. A patch replaces the list, and must not lose them.
    pub bystanders: Vec<Value>,
    pub created: Timestamp,
    pub deletion: Option<Deletion>,
}

/// A deletion under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// `metadata.deletionTimestamp`: when the grace period is over.
    pub due: Timestamp,
    pub grace: SignedDuration,
}

impl Metadata {
    /// Reads the metadata of any object. What a served object always has is not optional here.
    pub fn read(object: &Value) -> Result<Self, MissingMetadata> {
        let metadata = &object["metadata"];
        let text = |field: &'static str| metadata[field].as_str().ok_or(MissingMetadata(field));
        let time = |field: &str| metadata[field].as_str().and_then(|text| text.parse().ok());
        Ok(Self {
            key: Key::new(metadata["namespace"].as_str().unwrap_or_default(), text("name")?),
            uid: text("uid")?.into(),
            version: Version(text("resourceVersion")?.parse().unwrap_or_default()),
            generation: metadata["generation"].as_i64().unwrap_or_default(),
            labels: text_map(&metadata["labels"]),
            annotations: text_map(&metadata["annotations"]),
            owner: controller(&metadata["ownerReferences"]),
            bystanders: bystanders(&metadata["ownerReferences"]),
            created: time("creationTimestamp").unwrap_or(Timestamp::UNIX_EPOCH),
            deletion: time("deletionTimestamp").map(|due| Deletion {
                due,
                grace: SignedDuration::from_secs(
                    metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or_default(),
                ),
            }),
        })
    }

    pub fn name(&self) -> &str {
        &self.key.name
    }

    pub fn is_deleting(&self) -> bool {
        self.deletion.is_some()
    }

    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }

    /// The value of an annotation; an empty one counts as none, as everywhere in Kubernetes' own controllers.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Whose this object is, as `uid` sees it.
    pub fn ownership(&self, uid: &Uid) -> Ownership<'_> {
        match &self.owner {
            None => Ownership::Nobodys,
            Some(owner) if owner.uid == *uid => Ownership::Ours,
            Some(owner) => Ownership::Anothers(owner),
        }
    }

    pub fn is_owned_by(&self, uid: &Uid) -> bool {
        self.ownership(uid) == Ownership::Ours
    }

    /// All ownerReferences of this object once `reference` is that of its controller, or once it has none.
    pub fn references_under(&self, reference: Option<Value>) -> Value {
        let is_new = |bystander: &&Value| reference.as_ref().is_none_or(|new| new["uid"] != bystander["uid"]);
        let mut references: Vec<_> = self.bystanders.iter().filter(is_new).cloned().collect();
        references.extend(reference);
        references.into()
    }

    /// The ownerReference that makes this object, of that kind, the controller of another.
    pub fn controller_reference(&self, kind: Kind) -> Value {
        json!({
            "apiVersion": kind.api_version(),
            "kind": kind.name(),
            "name": self.name(),
            "uid": self.uid.as_str(),
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }
}

/// An object that no API server would serve.
#[derive(Debug, thiserror::Error)]
#[error("the object has no metadata.{0}")]
pub struct MissingMetadata(&'static str);

/// A map of texts; what is not text is left out.
pub fn text_map(map: &Value) -> BTreeMap<String, String> {
    let entries = map.as_object().into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

fn controller(references: &Value) -> Option<Owner> {
    let reference = references.as_array()?.iter().find(|reference| reference["controller"] == true)?;
    let api_version = reference["apiVersion"].as_str()?;
    Some(Owner {
        group: api_version.split_once('/').map_or("", |(group, _)| group).into(),
        kind: reference["kind"].as_str()?.into(),
        name: reference["name"].as_str()?.into(),
        uid: reference["uid"].as_str()?.into(),
    })
}

fn bystanders(references: &Value) -> Vec<Value> {
    let references = references.as_array().into_iter().flatten();
    references.filter(|reference| reference["controller"] != true).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object() -> Value {
        json!({"metadata": {
            "namespace": "team", "name": "demo", "uid": "u1", "resourceVersion": "42", "generation": 3,
            "labels": {"a": "b"}, "creationTimestamp": "2030-01-01T00:00:00Z",
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "u8"},
                {"apiVersion": "agents.x-k8s.io/v1alpha1", "kind": "Sandbox", "name": "box", "uid": "u9", "controller": true},
            ],
        }})
    }

    #[test]
    fn the_owner_is_the_controller_whatever_version_it_was_written_in() {
        let owner = Metadata::read(&object()).unwrap().owner.unwrap();
        assert!(owner.is(Kind::Sandbox));
        assert_eq!(owner.uid, "u9".into());
    }

    #[test]
    fn only_the_uid_makes_an_object_ours() {
        let metadata = Metadata::read(&object()).unwrap();
        assert!(metadata.is_owned_by(&"u9".into()));
        assert!(
            matches!(metadata.ownership(&"box".into()), Ownership::Anothers(owner) if &*owner.name == "box")
        );
    }

    #[test]
    fn a_change_of_controller_keeps_the_other_owners() {
        let metadata = Metadata::read(&object()).unwrap();
        let references = metadata.references_under(Some(json!({"uid": "u7", "controller": true})));
        let uids: Vec<_> = references.as_array().unwrap().iter().map(|reference| &reference["uid"]).collect();
        assert_eq!(uids, ["u8", "u7"]);
        assert_eq!(metadata.references_under(None).as_array().unwrap().len(), 1);
    }

    #[test]
    fn an_object_without_a_uid_is_refused() {
        let mut object = object();
        object["metadata"]["uid"] = Value::Null;
        assert_eq!(Metadata::read(&object).unwrap_err().to_string(), "the object has no metadata.uid");
    }
}
