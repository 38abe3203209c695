//! What is kept of a Sandbox.

use std::collections::BTreeMap;

use asb_types::conditions::READY;
use asb_types::lifecycle::{ShutdownPolicy, WhenDeleted};
use asb_types::runtime::Runtime;
use asb_types::v1beta1::{OperatingMode, SandboxStatus};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{BadField, View, deadline, optional, status};
use crate::conditions;
use crate::document::{Document, Documents};
use crate::object::{Metadata, text_map};
use crate::write::Kind;

#[derive(Clone, Debug, PartialEq)]
pub struct SandboxView {
    pub metadata: Metadata,
    pub pod: PodBlueprint,
    /// `spec.volumeClaimTemplates`, null where there are none.
    pub volumes: Document,
    pub service: Option<bool>,
    /// `spec.runtime`: whether sandboxd is in it, and how.
    pub runtime: Option<Runtime>,
    pub shutdown_time: Option<Timestamp>,
    pub shutdown_policy: ShutdownPolicy,
    pub operating_mode: OperatingMode,
    /// `spec.volumeClaimRetentionPolicy.whenDeleted`.
    pub volumes_when_deleted: WhenDeleted,
    /// `spec.ttlSecondsAfterExpired`: how long a Sandbox that expired is kept.
    pub ttl_after_expired: Option<SignedDuration>,
    pub status: SandboxStatus,
}

/// A `podTemplate`: the Pod's spec, and the labels and annotations it is to bear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodBlueprint {
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub spec: Document,
}

impl PodBlueprint {
    pub fn read(template: &Value) -> Self {
        Self {
            labels: text_map(&template["metadata"]["labels"]),
            annotations: text_map(&template["metadata"]["annotations"]),
            spec: (&template["spec"]).into(),
        }
    }
}

impl SandboxView {
    pub fn is_ready(&self) -> bool {
        conditions::is_true(&self.status.conditions, READY)
    }
}

impl View for SandboxView {
    const KIND: Kind = Kind::Sandbox;

    fn read(metadata: Metadata, object: &Value) -> Result<Self, BadField> {
        let spec = &object["spec"];
        let ttl: Option<u32> = optional(&spec["ttlSecondsAfterExpired"], "spec.ttlSecondsAfterExpired")?;
        let when_deleted = &spec["volumeClaimRetentionPolicy"]["whenDeleted"];
        Ok(Self {
            pod: PodBlueprint::read(&spec["podTemplate"]),
            volumes: (&spec["volumeClaimTemplates"]).into(),
            service: optional(&spec["service"], "spec.service")?,
            runtime: optional(&spec["runtime"], "spec.runtime")?,
            shutdown_time: deadline(&spec["shutdownTime"], "spec.shutdownTime")?,
            shutdown_policy: optional(&spec["shutdownPolicy"], "spec.shutdownPolicy")?.unwrap_or_default(),
            operating_mode: optional(&spec["operatingMode"], "spec.operatingMode")?.unwrap_or_default(),
            volumes_when_deleted: optional(when_deleted, "spec.volumeClaimRetentionPolicy.whenDeleted")?
                .unwrap_or_default(),
            ttl_after_expired: ttl.map(|seconds| SignedDuration::from_secs(seconds.into())),
            status: status(object),
            metadata,
        })
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn share(&mut self, documents: &mut Documents) {
        self.pod.spec = documents.share(&self.pod.spec);
        self.volumes = documents.share(&self.volumes);
    }
}
