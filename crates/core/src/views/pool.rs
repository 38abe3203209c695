//! What is kept of a SandboxWarmPool.

use asb_types::v1beta1::{SandboxWarmPoolStatus, UpdateStrategyType};
use serde_json::Value;

use super::shorthand::spelled;
use super::{BadField, View, optional, status};
use crate::document::Document;
use crate::object::Metadata;
use crate::write::Kind;

#[derive(Clone, Debug, PartialEq)]
pub struct PoolView {
    pub metadata: Metadata,
    pub replicas: usize,
    /// `spec.minSize` and `spec.maxSize`; with either, the size follows demand and `replicas` does not count.
    pub min_size: Option<usize>,
    pub max_size: Option<usize>,
    pub template: String,
    pub update_strategy: UpdateStrategyType,
    pub max_unavailable: Option<Bound>,
    pub max_surge: Option<Bound>,
    pub status: SandboxWarmPoolStatus,
    /// The spec as it is stored, where a short spelling is in control.
    pub spelled: Option<Document>,
}

/// How many members, or what part of the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    Count(usize),
    Percent(usize),
    /// Neither. The schema lets percentages through that nobody can count.
    Nonsense(String),
}

impl Bound {
    fn read(value: &Value) -> Option<Self> {
        let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
        let percent =
            value.as_str().and_then(|text| text.strip_suffix('%')).and_then(|text| text.parse().ok());
        match (value, count, percent) {
            (Value::Null, ..) => None,
            (_, Some(count), _) => Some(Self::Count(count)),
            (_, _, Some(percent)) => Some(Self::Percent(percent)),
            _ => Some(Self::Nonsense(value.to_string())),
        }
    }
}

impl View for PoolView {
    const KIND: Kind = Kind::SandboxWarmPool;

    fn read(metadata: Metadata, object: &Value) -> Result<Self, BadField> {
        let spec = &object["spec"];
        let count = |value: &Value, field| {
            let count: Option<u32> = optional(value, field)?;
            Ok(count.map(|count| count as usize))
        };
        let strategy = &spec["updateStrategy"];
        Ok(Self {
            replicas: count(&spec["replicas"], "spec.replicas")?.unwrap_or(1),
            min_size: count(&spec["minSize"], "spec.minSize")?,
            max_size: count(&spec["maxSize"], "spec.maxSize")?,
            template: spec["sandboxTemplateRef"]["name"].as_str().unwrap_or_default().to_owned(),
            update_strategy: optional(&strategy["type"], "spec.updateStrategy.type")?.unwrap_or_default(),
            max_unavailable: Bound::read(&strategy["maxUnavailable"]),
            max_surge: Bound::read(&strategy["maxSurge"]),
            status: status(object),
            spelled: spelled(&metadata, object),
            metadata,
        })
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
