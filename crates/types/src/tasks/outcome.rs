//! What a task's status says of its work.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::omit_zero;

/// Where a task is, in the words of its HTTP API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TaskPhase {
    /// It waits for its turn.
    Queued,
    /// Its sandbox and its workspace are made, and setup runs.
    Preparing,
    /// The agent works.
    Running,
    /// Verify commands run.
    Verifying,
    /// What was done is committed, pushed, and read back.
    Delivering,
    /// Its commit was read back from the remote, or there was nothing to commit and that was said to be right.
    Succeeded,
    /// It ended otherwise. What was done is kept.
    Failed,
    /// Somebody ended it. What was done is kept.
    Cancelled,
    /// The agent took too long. What was done is kept.
    TimedOut,
}

impl TaskPhase {
    pub const ALL: [Self; 9] = [
        Self::Queued,
        Self::Preparing,
        Self::Running,
        Self::Verifying,
        Self::Delivering,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
        Self::TimedOut,
    ];

    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "QUEUED",
            Self::Preparing => "PREPARING",
            Self::Running => "RUNNING",
            Self::Verifying => "VERIFYING",
            Self::Delivering => "DELIVERING",
            Self::Succeeded => "SUCCEEDED",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
            Self::TimedOut => "TIMED_OUT",
        }
    }

    /// Whether it is over.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled | Self::TimedOut)
    }
}

/// Why a task is where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    /// For programs.
    pub code: String,

    /// For people: what happened, and what to do next.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// One thing that was done for a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// What: claim, fetch, branch, files, setup, agent, verify, commit, push, read-back, rescue.
    pub name: String,

    /// How it went.
    pub state: StepState,

    /// When it began.
    pub started_at: Time,

    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,

    /// What is worth knowing of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// How a step went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StepState {
    Running,
    Succeeded,
    Failed,
}

/// Whether the verify commands passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Verdict {
    /// All of them did.
    Passed,
    /// One of them did not.
    Failed,
}

/// How large a change is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffStat {
    /// Files that it touches.
    #[schemars(range(min = 0))]
    pub files: i64,

    /// Lines that it adds.
    #[schemars(range(min = 0))]
    pub insertions: i64,

    /// Lines that it takes away.
    #[schemars(range(min = 0))]
    pub deletions: i64,
}

/// What was used of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Requests that the model answered.
    #[serde(default, skip_serializing_if = "omit_zero")]
    #[schemars(range(min = 0))]
    pub requests: i64,

    /// Tokens that it read.
    #[serde(default, skip_serializing_if = "omit_zero")]
    #[schemars(range(min = 0))]
    pub input_tokens: i64,

    /// Tokens that it wrote.
    #[serde(default, skip_serializing_if = "omit_zero")]
    #[schemars(range(min = 0))]
    pub output_tokens: i64,

    /// What that cost, in millionths of a dollar, where prices are known.
    #[serde(default, skip_serializing_if = "omit_zero")]
    #[schemars(range(min = 0))]
    pub micro_dollars: i64,
}

/// Something that the task service keeps of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// By which it is asked for: log, bundle, patch, untracked.
    pub name: String,

    /// How large it is.
    #[schemars(range(min = 0))]
    pub bytes: i64,

    /// What its bytes hash to, in hexadecimal.
    pub sha256: String,
}
