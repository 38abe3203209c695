//! Sandbox v1alpha1.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blueprint::{PodTemplate, VolumeClaimTemplate};
use crate::conditions::conditions_schema;
use crate::deadline::Deadline;
use crate::lifecycle::{ShutdownPolicy, VolumeClaimRetentionPolicy};
use crate::omit_zero;
use crate::phase::SandboxPhase;
use crate::runtime::Runtime;

/// What the Sandbox should be.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "agents.x-k8s.io",
    version = "v1alpha1",
    kind = "Sandbox",
    plural = "sandboxes",
    shortname = "sandbox",
    namespaced,
    status = "SandboxStatus",
    derive = "PartialEq",
    storage = false,
    deprecated = "agents.x-k8s.io/v1alpha1 Sandbox is deprecated; use agents.x-k8s.io/v1beta1 Sandbox instead",
    doc = "One isolated, stateful environment with a stable identity: at most one Pod, its volumes, and a Service if asked for.",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct SandboxSpec {
    /// The Pod to run.
    pub pod_template: PodTemplate,

    /// Volumes that belong to the Sandbox: one PersistentVolumeClaim each, named `<volume>-<sandbox>`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub volume_claim_templates: Vec<VolumeClaimTemplate>,

    /// Whether the volumes go with the Sandbox. Unset means that they do. Can be changed at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_claim_retention_policy: Option<VolumeClaimRetentionPolicy>,

    /// Whether the Sandbox has a headless Service of its name: true makes one, false removes it, unset leaves it as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<bool>,

    /// Puts sandboxd into a container, so that SDKs can run commands and move files there, whatever the image. Unset leaves
    /// the Pod as it is written. Counts for Pods that are made afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,

    /// The time at which the Sandbox expires. Moving it into the future revives an expired Sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shutdown_time: Option<Deadline>,

    /// What happens at expiry: Retain deletes the Pod and the Service and keeps the Sandbox and its volumes, Delete
    /// deletes the Sandbox.
    #[serde(default)]
    pub shutdown_policy: ShutdownPolicy,

    /// How long a Sandbox that Retain keeps outlives its expiry. 0 means not at all; unset means until somebody deletes
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_expired: Option<i32>,

    /// 1 keeps a Pod. 0 deletes it and keeps the volumes, the Service and the Sandbox itself.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 1))]
    pub replicas: i32,
}

fn one() -> i32 {
    1
}

/// What the Sandbox is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxStatus {
    /// The DNS name of the Service, if there is one.
    #[serde(default, rename = "serviceFQDN", skip_serializing_if = "String::is_empty")]
    pub service_fqdn: String,

    /// The name of the Service, if there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub service: String,

    /// The Sandbox in one word: Pending, Running, Suspended, Succeeded, Failed or Terminating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SandboxPhase")]
    pub phase: Option<SandboxPhase>,

    /// Ready, Suspended, Finished and PodScheduled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,

    /// How many Pods there are, 0 or 1.
    #[serde(default, skip_serializing_if = "omit_zero")]
    #[schemars(range(min = 0))]
    pub replicas: i32,

    /// The label selector that finds the Pod.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub selector: String,

    /// The Pod's addresses, the primary one first.
    #[serde(default, rename = "podIPs", skip_serializing_if = "Vec::is_empty")]
    pub pod_ips: Vec<String>,
}
