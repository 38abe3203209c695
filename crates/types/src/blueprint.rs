//! What a Sandbox is made of: the Pod, its volumes and its Service. Sandboxes and templates share these types.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolumeClaimSpec, PodSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::crd::kubernetes;

/// The Pod that a Sandbox runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodTemplate {
    /// The Pod's spec, as in a Pod.
    #[schemars(schema_with = "kubernetes::pod_spec")]
    pub spec: PodSpec,

    /// Labels and annotations for the Pod.
    #[serde(default)]
    pub metadata: PodMetadata,
}

/// The metadata that users may put on a Pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodMetadata {
    /// Labels, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,

    /// Annotations, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl PodMetadata {
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.annotations.is_empty()
    }
}

/// One PersistentVolumeClaim per Sandbox, named after both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeClaimTemplate {
    /// Name, labels and annotations. Containers mount the volume by this name.
    #[serde(default)]
    pub metadata: VolumeClaimMetadata,

    /// The claim's spec, as in a PersistentVolumeClaim.
    #[schemars(schema_with = "kubernetes::volume_claim_spec")]
    pub spec: PersistentVolumeClaimSpec,
}

/// The metadata that users may put on a PersistentVolumeClaim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeClaimMetadata {
    /// The volume's name; the claim is called `<name>-<sandbox>`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,

    /// Labels, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,

    /// Annotations, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// Whether claims may bring volumeClaimTemplates of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VolumeClaimTemplatesPolicy {
    /// Claims that bring any are refused.
    #[default]
    Disallowed,
    /// Claims may add volumes that the template does not have.
    Allowed,
    /// Claims may add volumes and replace the template's.
    Overrides,
}
