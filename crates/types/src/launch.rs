//! How a claim got its Sandbox, and when.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The story of a claim. Times have microseconds: a warm start takes few of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimLaunch {
    /// Warm: the Sandbox was a pool's. Cold: it was made for the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LaunchType")]
    pub r#type: Option<LaunchType>,

    /// Why it was that one, for programs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,

    /// Why it was that one, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,

    /// The pool that the claim named or that gave the Sandbox, if any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pool: String,

    /// When the operator first saw the claim.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(schema_with = "time")]
    pub observed_at: String,

    /// When the Sandbox became the claim's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(schema_with = "time")]
    pub bound_at: String,

    /// When the claim first was Ready with it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(schema_with = "time")]
    pub ready_at: String,
}

/// Where the Sandbox of a claim came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LaunchType {
    Warm,
    Cold,
}

fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "date-time"})
}
