//! Sandbox v1beta1.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blueprint::{PodTemplate, VolumeClaimTemplate};
use crate::conditions::conditions_schema;
use crate::deadline::Deadline;
use crate::lifecycle::{ShutdownPolicy, VolumeClaimRetentionPolicy};
use crate::phase::SandboxPhase;
use crate::runtime::Runtime;

/// CEL: volumes can neither be added, removed nor changed once the Sandbox exists.
const VOLUMES_UNCHANGED: &str = "has(self.volumeClaimTemplates) == has(oldSelf.volumeClaimTemplates) && \
    (!has(self.volumeClaimTemplates) || self.volumeClaimTemplates == oldSelf.volumeClaimTemplates)";

/// What the Sandbox should be.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "agents.x-k8s.io",
    version = "v1beta1",
    kind = "Sandbox",
    plural = "sandboxes",
    shortname = "sandbox",
    namespaced,
    status = "SandboxStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "One isolated, stateful environment with a stable identity: at most one Pod, its volumes, and a Service if asked for.",
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
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Node", type_ = "string", json_path = ".status.nodeName", priority = 1),
    printcolumn(name = "IP", type_ = "string", json_path = ".status.podIPs[0]", priority = 1)
)]
#[schemars(extend("x-kubernetes-validations" = [{"rule": VOLUMES_UNCHANGED, "message": "volumeClaimTemplates is immutable"}]))]
#[serde(rename_all = "camelCase")]
pub struct SandboxSpec {
    /// The Pod to run.
    pub pod_template: PodTemplate,

    /// Volumes that belong to the Sandbox: one PersistentVolumeClaim each, named `<volume>-<sandbox>`. They survive
    /// suspension and a Retain expiry, and go with the Sandbox unless `volumeClaimRetentionPolicy` keeps them. Cannot be changed after creation.
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

    /// Running keeps a Pod. Suspended deletes it and keeps the volumes, the Service and the Sandbox itself.
    #[serde(default)]
    pub operating_mode: OperatingMode,
}

/// Whether a Sandbox has a Pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OperatingMode {
    #[default]
    Running,
    Suspended,
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

    /// The label selector that finds the Pod.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub selector: String,

    /// The Pod's addresses, the primary one first.
    #[serde(default, rename = "podIPs", skip_serializing_if = "Vec::is_empty")]
    pub pod_ips: Vec<String>,

    /// The node the Pod is on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub node_name: String,
}
