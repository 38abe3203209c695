//! A Sandbox, or a claim, in one word, for people and for clients that poll. Conditions say more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `status.phase` of a Sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SandboxPhase {
    /// Its Pod is not running yet.
    Pending,
    /// Its Pod runs, which is not yet to say that it is Ready.
    Running,
    /// Its Pod was taken away on request.
    Suspended,
    /// Its Pod ended by itself, and well.
    Succeeded,
    /// Its Pod ended by itself, and not well.
    Failed,
    /// Its end has come: it is being deleted, or it has expired.
    Terminating,
}

/// `status.phase` of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ClaimPhase {
    /// It has no Sandbox yet, or one that is not Ready.
    Pending,
    /// Its Sandbox is Ready.
    Running,
    /// Its Sandbox is.
    Suspended,
    /// Its Sandbox has.
    Succeeded,
    /// Its Sandbox has failed, or it cannot get one until somebody changes something.
    Failed,
    /// Its time, or that of its Sandbox, is over.
    Expired,
}
