//! How a task's commit is written, what may leave, and on whose behalf.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::omit_zero;

/// How a commit is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitRules {
    /// The author's name. Unset means what the task service was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub author_name: Option<String>,

    /// The author's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub author_email: Option<String>,

    /// The message. {task}, {title}, {id}, {agent} and {branch} stand for what they say; {title} is the first line of the
    /// task. Unset means the title, the task, and a line with the task's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 65_536))]
    pub message: Option<String>,

    /// Whether the agent's own commits are made into one.
    #[serde(default, skip_serializing_if = "omit_zero")]
    pub squash: bool,
}

impl CommitRules {
    pub fn is_unset(&self) -> bool {
        *self == Self::default()
    }
}

/// When a change is pushed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeliveryMode {
    /// If verify commands pass.
    #[default]
    WhenVerified,
    /// Whether they pass or not; the verdict stands in the status.
    Always,
}

/// What may leave, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryRules {
    /// When the change is pushed.
    #[serde(default)]
    pub mode: DeliveryMode,

    /// Whether a branch that is there already may be replaced, if nobody changed it meanwhile.
    #[serde(default, skip_serializing_if = "omit_zero")]
    pub force: bool,

    /// Whether a task that changes nothing has failed. Unset, it has succeeded without a commit.
    #[serde(default, skip_serializing_if = "omit_zero")]
    pub require_change: bool,

    /// Paths that no change may touch: as in .gitignore, from the root of the repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub protected_paths: Vec<String>,

    /// The most bytes that a change may have. Unset means 100 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_bytes: Option<i64>,

    /// Whether a change is pushed although something in it looks like a secret.
    #[serde(default, skip_serializing_if = "omit_zero")]
    pub allow_secrets: bool,
}

impl DeliveryRules {
    pub fn is_unset(&self) -> bool {
        *self == Self::default()
    }
}

/// Secrets in the task's namespace, for the brokers alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    /// With which the repository is reached: of the types kubernetes.io/basic-auth or kubernetes.io/ssh-auth, or with the
    /// key `token`, or with the keys of a GitHub App (`app-id`, `installation-id`, `private-key`). Unset means what the
    /// task service was given, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub git_secret: Option<String>,

    /// With which the model is reached: the keys `url` and `key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub model_secret: Option<String>,
}

impl Credentials {
    pub fn is_unset(&self) -> bool {
        *self == Self::default()
    }
}

/// How much of a model a task may use. It is refused further requests beyond.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelBudget {
    /// Tokens, read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub tokens: Option<i64>,

    /// Millionths of a dollar, where prices are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub micro_dollars: Option<i64>,
}

impl ModelBudget {
    pub fn is_unset(&self) -> bool {
        *self == Self::default()
    }
}
