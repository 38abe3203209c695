//! SandboxTemplate v1beta1.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blueprint::{PodTemplate, VolumeClaimTemplate, VolumeClaimTemplatesPolicy};
use crate::conditions::conditions_schema;
use crate::env::EnvVarsInjectionPolicy;
use crate::lifecycle::VolumeClaimRetentionPolicy;
use crate::network::{NetworkPolicyManagement, NetworkPolicyRules};
use crate::omit_zero;
use crate::runtime::Runtime;

/// What Sandboxes made from this template are like.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "extensions.agents.x-k8s.io",
    version = "v1beta1",
    kind = "SandboxTemplate",
    plural = "sandboxtemplates",
    shortname = "sandboxtemplate",
    namespaced,
    status = "SandboxTemplateStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A blueprint for Sandboxes, with the policies that hold for all of them.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct SandboxTemplateSpec {
    /// The Pod to run.
    pub pod_template: PodTemplate,

    /// Volumes that each Sandbox gets of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub volume_claim_templates: Vec<VolumeClaimTemplate>,

    /// Whether the volumes of a Sandbox go with it once it was claimed, or started for a claim. Unset means that they do.
    /// Those of Sandboxes that nobody has claimed always go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_claim_retention_policy: Option<VolumeClaimRetentionPolicy>,

    /// Whether each Sandbox has a headless Service of its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<bool>,

    /// Puts sandboxd into a container of each Sandbox, so that SDKs can run commands and move files there, whatever the
    /// image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,

    /// Rules of the NetworkPolicy for all Pods of this template, used as they are when the policy is Managed. Present
    /// but empty, nothing gets in or out. Unset means a secure default: in from the router only, out to public
    /// addresses only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_policy: Option<NetworkPolicyRules>,

    /// Whether the operator makes and keeps a NetworkPolicy for this template.
    #[serde(default)]
    pub network_policy_management: NetworkPolicyManagement,

    /// Whether claims may set environment variables: Allowed lets them add, Overrides also replace, Disallowed refuses.
    #[serde(default)]
    pub env_vars_injection_policy: EnvVarsInjectionPolicy,

    /// Whether claims may bring volumes: Allowed lets them add, Overrides also replace, Disallowed refuses.
    #[serde(default)]
    pub volume_claim_templates_policy: VolumeClaimTemplatesPolicy,
}

/// Whether the template can be used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxTemplateStatus {
    /// The metadata.generation this status was written for.
    #[serde(default, skip_serializing_if = "omit_zero")]
    #[schemars(range(min = 0))]
    pub observed_generation: i64,

    /// Ready: whether its NetworkPolicy is as the template says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
}
