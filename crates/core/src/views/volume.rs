//! What is kept of a PersistentVolumeClaim: that it is there, and whose it is.

use serde_json::Value;

use super::{BadField, View};
use crate::object::Metadata;
use crate::write::Kind;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeView {
    pub metadata: Metadata,
}

impl View for VolumeView {
    const KIND: Kind = Kind::PersistentVolumeClaim;

    fn read(metadata: Metadata, _: &Value) -> Result<Self, BadField> {
        Ok(Self { metadata })
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
