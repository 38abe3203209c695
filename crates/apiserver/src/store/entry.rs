//! What the store holds and what happens to it.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;
use std::sync::Arc;

use serde_json::Value;

use super::{Key, Summary};
use crate::text::Text;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: Key,
    pub revision: Revision,
    pub text: Text,
    pub summary: Summary,
}

/// A write that was made: what is stored now, and the same as the tree from which it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    pub entry: Arc<Entry>,
    pub object: Value,
}

impl Entry {
    /// An object that bears its revision already.
    pub(crate) fn of(key: Key, revision: Revision, object: &Value) -> Arc<Self> {
        Arc::new(Self { key, revision, text: Text::of(object), summary: Summary::of(object) })
    }

    /// The object as a tree, made anew each time.
    pub fn value(&self) -> Value {
        self.text.value()
    }

    /// The same object as if this revision had stored it.
    pub fn at(&self, revision: Revision) -> Arc<Self> {
        Written::new(self.key.clone(), revision, self.value()).entry
    }

    /// About what it takes of memory.
    pub(super) fn weight(&self) -> usize {
        size_of::<Self>() + self.key.as_text().len() + self.text.json().len()
    }
}

impl Written {
    /// The object at the revision of this write.
    pub(super) fn new(key: Key, revision: Revision, mut object: Value) -> Self {
        if let Some(fields) = object.as_object_mut() {
            let metadata =
                fields.entry("metadata").or_insert_with(|| Value::Object(serde_json::Map::default()));
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
            }
        }
        Self { entry: Entry::of(key, revision, &object), object }
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
