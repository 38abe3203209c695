//! SandboxWarmPool v1beta1.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conditions::conditions_schema;
use crate::crd::kubernetes;
use crate::omit_zero;

/// CEL: the fewest are not more than the most.
pub(crate) const SIZES_IN_ORDER: &str =
    "!has(self.minSize) || !has(self.maxSize) || self.minSize <= self.maxSize";

/// What the pool should hold.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "extensions.agents.x-k8s.io",
    version = "v1beta1",
    kind = "SandboxWarmPool",
    plural = "sandboxwarmpools",
    shortname = "swp",
    namespaced,
    status = "SandboxWarmPoolStatus",
    derive = "PartialEq",
    doc = "Keeps Sandboxes of a template running and unclaimed, so that claims need not wait.",
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(name = "Desired", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(name = "Wanted", type_ = "integer", json_path = ".status.desiredReplicas"),
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
    #[serde(default = "one")]
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

fn one() -> i32 {
    1
}

/// A SandboxTemplate in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxTemplateRef {
    /// The template's name.
    pub name: String,
}

/// What happens to the pool's Sandboxes when the template changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateStrategy {
    /// OnReplenish keeps them until they are claimed and makes new ones from the new template; Recreate replaces them
    /// at once.
    #[serde(default)]
    pub r#type: UpdateStrategyType,

    /// How many may be missing while Recreate replaces them: a number, or a percentage of the pool, rounded down. With
    /// neither this nor `maxSurge`, all are replaced at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "kubernetes::count_or_percentage")]
    pub max_unavailable: Option<IntOrString>,

    /// How many more than wanted there may be while Recreate replaces them: a number, or a percentage of the pool,
    /// rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "kubernetes::count_or_percentage")]
    pub max_surge: Option<IntOrString>,
}

/// The kinds of [`UpdateStrategy`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UpdateStrategyType {
    Recreate,
    #[default]
    OnReplenish,
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

    /// The metadata.generation this status was written for.
    #[serde(default, skip_serializing_if = "omit_zero")]
    #[schemars(range(min = 0))]
    pub observed_generation: i64,

    /// Ready: whether there are as many as there should be. Progressing: whether those that are missing are on their way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
}
