//! Files over REST, below `/v1`: listings, health, metadata, and how refusals look.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The answer to `GET /v1/files/{directory}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// Below the root, which is `/`.
    pub path: String,
    /// By name.
    pub entries: Vec<Entry>,
    /// There are more than the limit, and these are some of them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub name: String,
    pub size: u64,
    #[serde(rename = "type")]
    pub kind: EntryKind,
    /// RFC 3339, in UTC, to the second.
    pub modified_at: String,
    /// Octal, with a zero in front.
    pub mode: String,
}

/// Links are what they lead to, and everything that is no directory is a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    File,
    Directory,
}

/// The answer to `GET /v1/stat/{path}`: one thing as it is, and not what it leads to unless that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    /// Below the root, which is `/`.
    pub path: String,
    #[serde(rename = "type")]
    pub kind: StatKind,
    pub size: u64,
    /// Octal, with a zero in front, and with the bits above the permissions.
    pub mode: String,
    /// RFC 3339, in UTC, to the millisecond, like the other two.
    pub modified_at: String,
    pub accessed_at: String,
    /// When the file, its name or its mode was changed last.
    pub changed_at: String,
    /// Where a link leads, as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatKind {
    File,
    Directory,
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// The answer to `GET /v1/health`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    pub status: String,
    pub uptime_seconds: u64,
}

/// The answer to `GET /v1/metadata`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    pub env: BTreeMap<String, String>,
}

/// The body of a refusal below `/v1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complaint {
    /// In capitals: `NOT_FOUND`, `INVALID_ARGUMENT` and so on.
    pub code: String,
    pub message: String,
}

/// The body of `POST /v1/move` and `POST /v1/copy`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    pub from: String,
    pub to: String,
    /// Whether something that is at `to` is replaced. Otherwise that is a conflict.
    #[serde(default)]
    pub overwrite: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_false(value: &bool) -> bool {
    !value
}
