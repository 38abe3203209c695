//! What a template says about the network of its Sandboxes.

use k8s_openapi::api::networking::v1::{NetworkPolicyEgressRule, NetworkPolicyIngressRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::crd::kubernetes;

/// Rules for a template's NetworkPolicy. Present but empty, it lets nothing in or out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicyRules {
    /// What may reach the Sandboxes, as in a NetworkPolicy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "kubernetes::ingress_rules")]
    pub ingress: Option<Vec<NetworkPolicyIngressRule>>,

    /// What the Sandboxes may reach, as in a NetworkPolicy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "kubernetes::egress_rules")]
    pub egress: Option<Vec<NetworkPolicyEgressRule>>,
}

/// Whether the template's NetworkPolicy is made and kept by the operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NetworkPolicyManagement {
    /// The operator makes one: from `networkPolicy`, or a secure default.
    #[default]
    Managed,
    /// The operator makes none.
    Unmanaged,
}
