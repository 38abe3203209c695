//! Environment variables that a claim adds to its Sandbox, and the template's say in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A variable for one container of the claimed Sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimEnvVar {
    /// The variable's name.
    pub name: String,

    /// The variable's value, taken literally.
    pub value: String,

    /// The container it is for, init containers included. Unset means the first regular container.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub container_name: String,
}

/// Whether claims may set environment variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum EnvVarsInjectionPolicy {
    /// Claims may add variables that the template does not have.
    Allowed,
    /// Claims may add variables and replace the template's.
    Overrides,
    /// Claims with variables are refused.
    #[default]
    Disallowed,
}
