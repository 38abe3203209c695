//! What to run, spelled inside another object.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::blueprint::{PodMetadata, PodTemplate, VolumeClaimTemplate, VolumeClaimTemplatesPolicy};
use crate::crd::kubernetes;
use crate::env::EnvVarsInjectionPolicy;
use crate::network::{NetworkPolicyManagement, NetworkPolicyRules};

/// What a SandboxTemplate's spec may say, all of it optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Blueprint {
    /// The Pod to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_template: Option<PodTemplate>,

    /// Volumes that each Sandbox gets of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub volume_claim_templates: Vec<VolumeClaimTemplate>,

    /// Whether each Sandbox has a headless Service of its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<bool>,

    /// Rules of the NetworkPolicy for all Pods of this template, used as they are when the policy is Managed. Present
    /// but empty, nothing gets in or out. Unset means a secure default: in from the router only, out to public
    /// addresses only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_policy: Option<NetworkPolicyRules>,

    /// Whether the operator makes and keeps a NetworkPolicy for this template. Unset means Managed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "NetworkPolicyManagement")]
    pub network_policy_management: Option<NetworkPolicyManagement>,

    /// Whether claims may set environment variables: Allowed lets them add, Overrides also replace, Disallowed refuses.
    /// Unset means Allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "EnvVarsInjectionPolicy")]
    pub env_vars_injection_policy: Option<EnvVarsInjectionPolicy>,

    /// Whether claims may bring volumes: Allowed lets them add, Overrides also replace, Disallowed refuses. Unset means
    /// Disallowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "VolumeClaimTemplatesPolicy")]
    pub volume_claim_templates_policy: Option<VolumeClaimTemplatesPolicy>,
}

/// A template inside another object, spelled as in a Deployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InlineTemplate {
    /// Labels and annotations for the Pod, where the spec is a Pod's.
    #[serde(default, skip_serializing_if = "PodMetadata::is_empty")]
    pub metadata: PodMetadata,

    /// A Pod's spec, or a podTemplate; and what else the spec of a SandboxTemplate may say.
    #[schemars(schema_with = "pod_spec_or_blueprint")]
    pub spec: Value,
}

/// The fields of both. Which of them may stand together is more than a schema can say.
fn pod_spec_or_blueprint(generator: &mut SchemaGenerator) -> Schema {
    let blueprint = Blueprint::json_schema(generator);
    let own = blueprint.get("properties").cloned().unwrap_or_default();
    let mut schema = kubernetes::pod_spec(generator);
    schema.insert("properties".to_owned(), own);
    schema
}

/// The name of a template, or a template itself: a field without a type, since a schema knows no choice of two.
pub(super) fn name_or_template(generator: &mut SchemaGenerator) -> Schema {
    let inline = InlineTemplate::json_schema(generator);
    json_schema!({
        "properties": inline.get("properties").cloned().unwrap_or_default(),
        "x-kubernetes-preserve-unknown-fields": true,
    })
}
