//! SandboxClaim v1alpha1.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blueprint::PodMetadata;
use crate::env::ClaimEnvVar;
use crate::lifecycle::{ClaimLifecycle, LostSandboxPolicy};
use crate::v1beta1::{SandboxClaimStatus, SandboxTemplateRef};

/// `warmpool`: any pool of the template will do.
pub const WARM_POOL_DEFAULT: &str = "default";
/// `warmpool`: always a fresh Sandbox.
pub const WARM_POOL_NONE: &str = "none";

/// What the claim asks for.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "extensions.agents.x-k8s.io",
    version = "v1alpha1",
    kind = "SandboxClaim",
    plural = "sandboxclaims",
    shortname = "sandboxclaim",
    namespaced,
    status = "SandboxClaimStatus",
    derive = "PartialEq",
    storage = false,
    deprecated = "extensions.agents.x-k8s.io/v1alpha1 SandboxClaim is deprecated; use extensions.agents.x-k8s.io/v1beta1 SandboxClaim instead",
    doc = "A request for a Sandbox of its own, made from a template."
)]
#[serde(rename_all = "camelCase")]
pub struct SandboxClaimSpec {
    /// The template of the Sandbox.
    pub sandbox_template_ref: SandboxTemplateRef,

    /// The pool to take it from: a pool's name, `default` for any pool of the template, `none` for a fresh Sandbox.
    #[serde(default = "any_pool")]
    pub warmpool: String,

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
}

fn any_pool() -> String {
    WARM_POOL_DEFAULT.to_owned()
}
