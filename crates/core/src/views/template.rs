//! What is kept of a SandboxTemplate.

use asb_types::blueprint::VolumeClaimTemplatesPolicy;
use asb_types::env::EnvVarsInjectionPolicy;
use asb_types::lifecycle::WhenDeleted;
use asb_types::network::NetworkPolicyManagement;
use asb_types::runtime::Runtime;
use asb_types::v1beta1::SandboxTemplateStatus;
use serde_json::Value;

use super::shorthand::spelled;
use super::{BadField, PodBlueprint, View, optional, status};
use crate::document::Document;
use crate::object::Metadata;
use crate::write::Kind;

#[derive(Clone, Debug, PartialEq)]
pub struct TemplateView {
    pub metadata: Metadata,
    pub pod: PodBlueprint,
    /// `spec.volumeClaimTemplates`, null where there are none.
    pub volumes: Document,
    /// `spec.volumeClaimRetentionPolicy.whenDeleted`, for Sandboxes that are claimed.
    pub volumes_when_deleted: WhenDeleted,
    pub service: Option<bool>,
    /// `spec.runtime`: whether sandboxd is in its Sandboxes, and how.
    pub runtime: Option<Runtime>,
    /// `spec.networkPolicy`, null where there is none.
    pub network_policy: Document,
    pub network_policy_management: NetworkPolicyManagement,
    pub env_policy: EnvVarsInjectionPolicy,
    pub volumes_policy: VolumeClaimTemplatesPolicy,
    pub status: SandboxTemplateStatus,
    /// The spec as it is stored, where a short spelling is in control.
    pub spelled: Option<Document>,
}

impl View for TemplateView {
    const KIND: Kind = Kind::SandboxTemplate;

    fn read(metadata: Metadata, object: &Value) -> Result<Self, BadField> {
        let spec = &object["spec"];
        let management = optional(&spec["networkPolicyManagement"], "spec.networkPolicyManagement")?;
        let env_policy = optional(&spec["envVarsInjectionPolicy"], "spec.envVarsInjectionPolicy")?;
        let volumes_policy =
            optional(&spec["volumeClaimTemplatesPolicy"], "spec.volumeClaimTemplatesPolicy")?;
        let when_deleted = &spec["volumeClaimRetentionPolicy"]["whenDeleted"];
        Ok(Self {
            pod: PodBlueprint::read(&spec["podTemplate"]),
            volumes: (&spec["volumeClaimTemplates"]).into(),
            volumes_when_deleted: optional(when_deleted, "spec.volumeClaimRetentionPolicy.whenDeleted")?
                .unwrap_or_default(),
            service: optional(&spec["service"], "spec.service")?,
            runtime: optional(&spec["runtime"], "spec.runtime")?,
            network_policy: (&spec["networkPolicy"]).into(),
            network_policy_management: management.unwrap_or_default(),
            env_policy: env_policy.unwrap_or_default(),
            volumes_policy: volumes_policy.unwrap_or_default(),
            status: status(object),
            spelled: spelled(&metadata, object),
            metadata,
        })
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
