//! What the store holds and what happens to it.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;
use std::sync::Arc;

use serde_json::Value;

use super::Key;

/// A moment in the store's life: every write makes the next one. Clients see it as `resourceVersion`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for Revision {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// An object as it was stored at some revision. Its `metadata.resourceVersion` says the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub key: Key,
    pub revision: Revision,
    pub value: Value,
}

impl Entry {
    /// The object at the revision of this write.
    pub(super) fn new(key: Key, revision: Revision, mut value: Value) -> Arc<Self> {
        if let Some(object) = value.as_object_mut() {
            let metadata =
                object.entry("metadata").or_insert_with(|| Value::Object(serde_json::Map::default()));
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
            }
        }
        Arc::new(Self { key, revision, value })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Added,
    Modified,
    Deleted,
}

/// One write, as watches see it. A deletion shows the last state, at the revision of the deletion.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub kind: EventKind,
    pub entry: Arc<Entry>,
    /// What it replaced: a selector may have matched one and not the other.
    pub previous: Option<Arc<Entry>>,
}

impl Event {
    pub fn revision(&self) -> Revision {
        self.entry.revision
    }
}
