//! What is kept of a Service.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{BadField, View};
use crate::document::{Document, Documents};
use crate::object::{Metadata, text_map};
use crate::write::Kind;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceView {
    pub metadata: Metadata,
    /// `None` for a headless one, as Kubernetes spells it; empty until it has one.
    pub cluster_ip: String,
    pub selector: BTreeMap<String, String>,
    /// `spec.ports`, null where there are none.
    pub ports: Document,
}

impl View for ServiceView {
    const KIND: Kind = Kind::Service;

    fn read(metadata: Metadata, object: &Value) -> Result<Self, BadField> {
        let spec = &object["spec"];
        Ok(Self {
            metadata,
            cluster_ip: spec["clusterIP"].as_str().unwrap_or_default().to_owned(),
            selector: text_map(&spec["selector"]),
            ports: (&spec["ports"]).into(),
        })
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn share(&mut self, documents: &mut Documents) {
        self.ports = documents.share(&self.ports);
    }
}
