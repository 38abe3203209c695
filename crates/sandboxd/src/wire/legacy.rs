//! The contract of upstream's Python runtime, on port 8888.

use serde::{Deserialize, Serialize};

/// The answer to `POST /execute`. Keys that a client does not know are ignored by all that are around.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    pub stdout: String,
    pub stderr: String,
    pub exit_code: i32,
    #[serde(default)]
    pub timed_out: bool,
    /// Output was longer than the limit, and its end is missing.
    #[serde(default)]
    pub truncated: bool,
}

/// One entry of `GET /list/{path}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    pub name: String,
    pub size: u64,
    #[serde(rename = "type")]
    pub kind: super::files::EntryKind,
    /// Seconds since 1970.
    pub mod_time: f64,
}

/// The answer to `GET /exists/{path}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Existence {
    pub path: String,
    pub exists: bool,
}

/// What is said of an upload, a refusal, or a file that is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub message: String,
}
