//! SandboxTemplate in its short spelling.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Blueprint, InlineTemplate};
use crate::v1beta1;

/// CEL: what to run is said once.
const ONE_TEMPLATE: &str = "has(self.podTemplate) != has(self.template)";

/// What Sandboxes made from this template are like.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "agents.x-k8s.io",
    version = "v1alpha1",
    kind = "SandboxTemplate",
    plural = "sandboxtemplates",
    singular = "shortsandboxtemplate",
    namespaced,
    status = "SandboxTemplateStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A blueprint for Sandboxes in a short spelling. It stands for the SandboxTemplate of its name in extensions.agents.x-k8s.io.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].reason"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = [{"rule": ONE_TEMPLATE, "message": "one of podTemplate and template must say what to run"}]))]
#[serde(rename_all = "camelCase")]
pub struct SandboxTemplateSpec {
    /// What to run, spelled as in a Deployment: a Pod's spec, or a podTemplate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<InlineTemplate>,

    #[serde(flatten)]
    pub blueprint: Blueprint,
}

/// Whether the template can be used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxTemplateStatus {
    /// The UID of the SandboxTemplate in extensions.agents.x-k8s.io that this one stands for.
    #[serde(default, rename = "canonicalUID", skip_serializing_if = "String::is_empty")]
    pub canonical_uid: String,

    #[serde(flatten)]
    pub mirrored: v1beta1::SandboxTemplateStatus,
}
