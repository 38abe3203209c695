//! When a Sandbox or a claim ends, and what is left of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::deadline::Deadline;

/// What happens to a Sandbox at its `shutdownTime`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ShutdownPolicy {
    /// The Sandbox is deleted, and its volumes with it.
    Delete,
    /// Pod and Service are deleted; the Sandbox and its volumes stay.
    #[default]
    Retain,
}

/// What happens to a claim when it expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ClaimShutdownPolicy {
    /// The claim is deleted, and its Sandbox after it.
    Delete,
    /// The claim is deleted once its Sandbox is gone.
    DeleteForeground,
    /// The Sandbox is deleted; the claim stays, marked expired.
    #[default]
    Retain,
}

/// What becomes of the volumes of a Sandbox, as in a StatefulSet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeClaimRetentionPolicy {
    /// Delete removes the volumes with the Sandbox. Retain keeps them, for another Sandbox of its name.
    #[serde(default)]
    pub when_deleted: WhenDeleted,
}

/// What becomes of a Sandbox's volumes when it is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WhenDeleted {
    /// They go with it.
    #[default]
    Delete,
    /// They stay, for another Sandbox of its name.
    Retain,
}

/// What a claim does when somebody else has deleted its Sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LostSandboxPolicy {
    /// Say so. What was in it is gone, and a new one in its place would hide that.
    #[default]
    Report,
    /// Get another one.
    Replace,
}

/// When a claim expires: at the earlier of the two times given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimLifecycle {
    /// The time at which the claim expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shutdown_time: Option<Deadline>,

    /// How long the claim lives on after its Sandbox has finished. 0 means not at all; unset means until something
    /// else ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_finished: Option<i32>,

    /// How long a claim that Retain keeps outlives its expiry. 0 means not at all; unset means until somebody deletes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_expired: Option<i32>,

    /// What happens at expiry: Retain keeps the claim and deletes its Sandbox, Delete deletes both, DeleteForeground
    /// deletes both and keeps the claim visible until the Sandbox is gone.
    #[serde(default)]
    pub shutdown_policy: ClaimShutdownPolicy,
}
