//! SandboxWarmPool v1alpha1.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conditions::conditions_schema;
use crate::omit_zero;
use crate::v1beta1::{SIZES_IN_ORDER, SandboxTemplateRef, UpdateStrategy};

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
#[schemars(extend("x-kubernetes-validations" = [{"rule": SIZES_IN_ORDER, "message": "minSize may not be more than maxSize"}]))]
#[serde(rename_all = "camelCase")]
pub struct SandboxWarmPoolSpec {
    /// How many unclaimed Sandboxes to keep. 0 keeps none: claims start fresh ones.
    #[schemars(range(min = 0))]
    pub replicas: i32,

    /// The fewest unclaimed Sandboxes to keep. With it or `maxSize`, the number follows demand and `replicas` does not
    /// count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub min_size: Option<i32>,

    /// The most unclaimed Sandboxes to keep. With it or `minSize`, the number follows demand and `replicas` does not
    /// count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_size: Option<i32>,

    /// The template to make them from.
    pub sandbox_template_ref: SandboxTemplateRef,

    /// What happens to the pool's Sandboxes when the template changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<UpdateStrategy>,
}

/// What the pool holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxWarmPoolStatus {
    /// How many unclaimed Sandboxes there are, ready or not.
    #[serde(default, skip_serializing_if = "omit_zero")]
    pub replicas: i32,

    /// How many of them are Ready.
    #[serde(default, skip_serializing_if = "omit_zero")]
    pub ready_replicas: i32,

    /// How many there should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub desired_replicas: Option<i32>,

    /// The label selector that finds them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub selector: String,

    /// Ready: whether there are as many as there should be. Progressing: whether those that are missing are on their way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
}
