//! What is kept of a NetworkPolicy.

use serde_json::Value;

use super::{BadField, View};
use crate::document::{Document, Documents};
use crate::object::Metadata;
use crate::write::Kind;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkPolicyView {
    pub metadata: Metadata,
    pub spec: Document,
}

impl View for NetworkPolicyView {
    const KIND: Kind = Kind::NetworkPolicy;

    fn read(metadata: Metadata, object: &Value) -> Result<Self, BadField> {
        Ok(Self { metadata, spec: (&object["spec"]).into() })
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn share(&mut self, documents: &mut Documents) {
        self.spec = documents.share(&self.spec);
    }
}
