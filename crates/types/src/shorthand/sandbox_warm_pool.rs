//! SandboxWarmPool in its short spelling.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::inline;
use crate::v1beta1::{self, SIZES_IN_ORDER, UpdateStrategy};

/// CEL: a pool has one size, or follows demand.
const ONE_SIZE: &str = "!has(self.size) || (!has(self.minSize) && !has(self.maxSize))";

/// What the pool should hold.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "agents.x-k8s.io",
    version = "v1alpha1",
    kind = "SandboxWarmPool",
    plural = "sandboxwarmpools",
    singular = "shortsandboxwarmpool",
    namespaced,
    status = "SandboxWarmPoolStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "Keeps Sandboxes ready, in a short spelling. It stands for the SandboxWarmPool of its name in extensions.agents.x-k8s.io.",
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(name = "Desired", type_ = "integer", json_path = ".spec.size"),
    printcolumn(name = "Wanted", type_ = "integer", json_path = ".status.desiredReplicas"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    scale(
        spec_replicas_path = ".spec.size",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    )
)]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": SIZES_IN_ORDER, "message": "minSize may not be more than maxSize"},
    {"rule": ONE_SIZE, "message": "size is for a pool of one size; minSize and maxSize are for one that follows demand"},
]))]
#[serde(rename_all = "camelCase")]
pub struct SandboxWarmPoolSpec {
    /// How many unclaimed Sandboxes to keep. 0 keeps none: claims start fresh ones. Unset means 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub size: Option<i32>,

    /// The fewest unclaimed Sandboxes to keep, where their number follows demand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub min_size: Option<i32>,

    /// The most unclaimed Sandboxes to keep, where their number follows demand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_size: Option<i32>,

    /// The template to make them from: its name; or the template itself, spelled as in a Deployment, which becomes a
    /// SandboxTemplate of the pool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "inline::name_or_template")]
    pub template: Option<Value>,

    /// The name of the template to make them from. Either this or `template`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_template: Option<String>,

    /// What happens to the pool's Sandboxes when the template changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<UpdateStrategy>,
}

/// What the pool holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxWarmPoolStatus {
    /// The UID of the SandboxWarmPool in extensions.agents.x-k8s.io that this one stands for.
    #[serde(default, rename = "canonicalUID", skip_serializing_if = "String::is_empty")]
    pub canonical_uid: String,

    #[serde(flatten)]
    pub mirrored: v1beta1::SandboxWarmPoolStatus,
}
