//! SandboxClaim in its short spelling.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blueprint::{PodMetadata, VolumeClaimTemplate};
use crate::env::ClaimEnvVar;
use crate::lifecycle::{ClaimLifecycle, LostSandboxPolicy};
use crate::v1beta1;

/// CEL: the template is named once.
const ONE_TEMPLATE: &str = "has(self.sandboxTemplate) != has(self.template)";

/// What the claim asks for.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "agents.x-k8s.io",
    version = "v1alpha1",
    kind = "SandboxClaim",
    plural = "sandboxclaims",
    singular = "shortsandboxclaim",
    namespaced,
    status = "SandboxClaimStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A request for a Sandbox in a short spelling. It stands for the SandboxClaim of its name in extensions.agents.x-k8s.io.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(name = "Sandbox", type_ = "string", json_path = ".status.sandbox.name"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].reason"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase", priority = 1),
    printcolumn(name = "Launch", type_ = "string", json_path = ".status.launch.type", priority = 1)
)]
#[schemars(extend("x-kubernetes-validations" = [{"rule": ONE_TEMPLATE, "message": "one of sandboxTemplate and template must name the template"}]))]
#[serde(rename_all = "camelCase")]
pub struct SandboxClaimSpec {
    /// The name of the template. The Sandbox comes from any pool of it, or is made of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_template: Option<String>,

    /// The same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,

    /// When the claim expires, and what happens then. Unset means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<ClaimLifecycle>,

    /// What happens when somebody else deletes the claim's Sandbox: Report says so, Replace gets another one. Unset means
    /// Report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LostSandboxPolicy")]
    pub lost_sandbox_policy: Option<LostSandboxPolicy>,

    /// Labels and annotations for the Pod, besides the template's. They may not contradict the template.
    #[serde(default, skip_serializing_if = "PodMetadata::is_empty")]
    pub additional_pod_metadata: PodMetadata,

    /// Environment variables for the Sandbox's containers, if the template's policy allows it. A claim with any starts
    /// a fresh Sandbox, which bears the claim's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub env: Vec<ClaimEnvVar>,

    /// Volumes besides the template's, or instead of them, if the template's policy allows it. A claim with any starts
    /// a fresh Sandbox.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub volume_claim_templates: Vec<VolumeClaimTemplate>,
}

/// What the claim has got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxClaimStatus {
    /// The UID of the SandboxClaim in extensions.agents.x-k8s.io that this one stands for.
    #[serde(default, rename = "canonicalUID", skip_serializing_if = "String::is_empty")]
    pub canonical_uid: String,

    #[serde(flatten)]
    pub mirrored: v1beta1::SandboxClaimStatus,
}
