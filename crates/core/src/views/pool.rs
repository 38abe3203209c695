//! What is kept of a SandboxWarmPool.

use asb_types::v1beta1::{SandboxWarmPoolStatus, UpdateStrategyType};
use serde_json::Value;

use super::{Unreadable, View, optional, status};
use crate::object::Metadata;
use crate::write::Kind;

#[derive(Clone, Debug, PartialEq)]
pub struct PoolView {
    pub metadata: Metadata,
    pub replicas: usize,
    pub template: String,
    pub update_strategy: UpdateStrategyType,
    pub status: SandboxWarmPoolStatus,
}

impl View for PoolView {
    const KIND: Kind = Kind::SandboxWarmPool;

    fn read(metadata: Metadata, object: &Value) -> Result<Self, Unreadable> {
        let spec = &object["spec"];
        let replicas: Option<u32> = optional(&metadata, &spec["replicas"], "spec.replicas")?;
        let strategy = optional(&metadata, &spec["updateStrategy"]["type"], "spec.updateStrategy.type")?;
        Ok(Self {
            replicas: replicas.unwrap_or(1) as usize,
            template: spec["sandboxTemplateRef"]["name"].as_str().unwrap_or_default().to_owned(),
            update_strategy: strategy.unwrap_or_default(),
            status: status(object),
            metadata,
        })
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
