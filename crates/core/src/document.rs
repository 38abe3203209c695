//! A piece of JSON that is kept but seldom looked into, such as a Pod's spec: as text, and once however often it occurs.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// JSON text in one form: equal documents have equal text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Document(Arc<str>);

impl Document {
    /// The value as it was.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.0).expect("a document is made of a value")
    }

    pub fn text(&self) -> &str {
        &self.0
    }
}

impl From<&Value> for Document {
    fn from(value: &Value) -> Self {
        Self(value.to_string().into())
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

/// The documents in use. Ten thousand Sandboxes of one template hold one copy of its Pod.
#[derive(Debug, Default)]
pub struct Documents {
    known: HashSet<Document>,
    /// When next to look for documents that nobody uses any more.
    sweep_at: usize,
}

impl Documents {
    const SMALLEST_SWEEP: usize = 64;

    /// How many somebody uses.
    pub fn in_use(&self) -> usize {
        self.known.iter().filter(|known| Arc::strong_count(&known.0) > 1).count()
    }

    /// The copy that everyone shares.
    #[must_use]
    pub fn share(&mut self, document: &Document) -> Document {
        if let Some(known) = self.known.get(document) {
            return known.clone();
        }
        if self.known.len() >= self.sweep_at.max(Self::SMALLEST_SWEEP) {
            self.known.retain(|known| Arc::strong_count(&known.0) > 1);
            self.sweep_at = self.known.len() * 2;
        }
        self.known.insert(document.clone());
        document.clone()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_documents_share_one_text() {
        let mut documents = Documents::default();
        let first = documents.share(&(&json!({"b": 1, "a": [null]})).into());
        let second = documents.share(&(&json!({"a": [null], "b": 1})).into());
        assert!(Arc::ptr_eq(&first.0, &second.0));
        assert_eq!(second.value(), json!({"a": [null], "b": 1}));
    }

    #[test]
    fn documents_that_nobody_uses_are_forgotten() {
        let mut documents = Documents::default();
        for number in 0..10_000 {
            let _ = documents.share(&(&json!(number)).into());
        }
        assert!(documents.known.len() <= Documents::SMALLEST_SWEEP);
    }
}
