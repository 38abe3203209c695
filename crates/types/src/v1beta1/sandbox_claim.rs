//! SandboxClaim v1beta1.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blueprint::{PodMetadata, VolumeClaimTemplate};
use crate::conditions::conditions_schema;
use crate::env::ClaimEnvVar;
use crate::launch::ClaimLaunch;
use crate::lifecycle::{ClaimLifecycle, LostSandboxPolicy};
use crate::phase::ClaimPhase;

/// What the claim asks for.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "extensions.agents.x-k8s.io",
    version = "v1beta1",
    kind = "SandboxClaim",
    plural = "sandboxclaims",
    shortname = "sandboxclaim",
    namespaced,
    status = "SandboxClaimStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A request for a Sandbox of its own: a warm one from a pool, or a fresh one from the pool's template.",
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
#[serde(rename_all = "camelCase")]
pub struct SandboxClaimSpec {
    /// The pool to take a Sandbox from. Its template serves where the pool has none to give.
    pub warm_pool_ref: WarmPoolRef,

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
    /// a fresh Sandbox.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub env: Vec<ClaimEnvVar>,

    /// Volumes besides the template's, or instead of them, if the template's policy allows it. A claim with any starts
    /// a fresh Sandbox.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub volume_claim_templates: Vec<VolumeClaimTemplate>,
}

/// A SandboxWarmPool in the claim's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WarmPoolRef {
    /// The pool's name.
    pub name: String,
}

/// What the claim has got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxClaimStatus {
    /// The claim in one word: Pending, Running, Suspended, Succeeded, Failed or Expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ClaimPhase")]
    pub phase: Option<ClaimPhase>,

    /// Ready and Finished, as the Sandbox reports them, or why there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,

    /// The claimed Sandbox.
    #[serde(default)]
    pub sandbox: ClaimedSandbox,

    /// How and when the claim got it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<ClaimLaunch>,
}

/// The Sandbox that a claim has got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimedSandbox {
    /// Its name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,

    /// Its Pod's addresses, the primary one first.
    #[serde(default, rename = "podIPs", skip_serializing_if = "Vec::is_empty")]
    pub pod_ips: Vec<String>,
}
