//! SandboxWarmPool v1alpha1.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::omit_zero;
use crate::v1beta1::{SandboxTemplateRef, UpdateStrategy};

/// What the pool should hold.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "extensions.agents.x-k8s.io",
    version = "v1alpha1",
    kind = "SandboxWarmPool",
    plural = "sandboxwarmpools",
    shortname = "swp",
    namespaced,
    status = "SandboxWarmPoolStatus",
    derive = "PartialEq",
    storage = false,
    deprecated = "extensions.agents.x-k8s.io/v1alpha1 SandboxWarmPool is deprecated; use extensions.agents.x-k8s.io/v1beta1 SandboxWarmPool instead",
    doc = "Keeps Sandboxes of a template running and unclaimed, so that claims need not wait.",
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(name = "Desired", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct SandboxWarmPoolSpec {
    /// How many unclaimed Sandboxes to keep. 0 keeps none: claims start fresh ones.
    #[schemars(range(min = 0))]
    pub replicas: i32,

    /// The template to make them from.
    pub sandbox_template_ref: SandboxTemplateRef,

    /// What happens to the pool's Sandboxes when the template changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<UpdateStrategy>,
}

/// What the pool holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxWarmPoolStatus {
    /// How many unclaimed Sandboxes there are, ready or not.
    #[serde(default, skip_serializing_if = "omit_zero")]
    pub replicas: i32,

    /// How many of them are Ready.
    #[serde(default, skip_serializing_if = "omit_zero")]
    pub ready_replicas: i32,

    /// The label selector that finds them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub selector: String,
}
