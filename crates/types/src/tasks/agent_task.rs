//! AgentTask v1alpha1.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::input::{Agent, InjectedFile, SandboxSource, TaskEnvVar};
use super::outcome::{Artifact, DiffStat, Reason, Step, TaskPhase, Usage, Verdict};
use super::rules::{CommitRules, Credentials, DeliveryRules, ModelBudget};
use crate::conditions::conditions_schema;
use crate::omit_zero;

/// CEL: what a task is about does not change under it.
const FIXED: &str = "self.repo == oldSelf.repo && self.task == oldSelf.task";

/// What is to be done.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "tasks.agent-sandbox.dev",
    version = "v1alpha1",
    kind = "AgentTask",
    plural = "agenttasks",
    shortname = "task",
    namespaced,
    status = "AgentTaskStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A coding task: a repository, a branch of its own, an agent that works in a sandbox, and a commit that is pushed.",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.reason.code"),
    printcolumn(name = "Branch", type_ = "string", json_path = ".status.branch"),
    printcolumn(name = "Commit", type_ = "string", json_path = ".status.commit"),
    printcolumn(name = "Agent", type_ = "string", json_path = ".spec.agent.preset", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = [{"rule": FIXED, "message": "repo and task cannot be changed: make another task"}]))]
#[serde(rename_all = "camelCase")]
pub struct AgentTaskSpec {
    /// The repository: an https, http or ssh URL, or user@host:path. Credentials do not belong in it.
    #[schemars(length(min = 1, max = 2048))]
    pub repo: String,

    /// The branch to begin from. Unset means the one that the repository names as its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub base_branch: Option<String>,

    /// The branch to push. Unset means one that is named after the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub new_branch: Option<String>,

    /// What the agent is asked to do.
    #[schemars(length(min = 1, max = 262_144))]
    pub task: String,

    /// Who does it.
    pub agent: Agent,

    /// Where it is done. Unset means what the task service was told to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SandboxSource")]
    pub sandbox: Option<SandboxSource>,

    /// Files that are put into the workspace before setup. They are not part of the commit unless they say so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub files: Vec<InjectedFile>,

    /// Environment of setup, agent and verify commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub env: Vec<TaskEnvVar>,

    /// Shell commands before the agent, in order. One that fails fails the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub setup: Vec<String>,

    /// Shell commands after the agent, in order. What follows where one fails is up to `delivery.mode`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub verify: Vec<String>,

    /// Seconds from the start of its work until the agent is stopped. Unset means 1800.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 604_800))]
    pub timeout_seconds: Option<i64>,

    /// Seconds before that at which the agent is told to come to an end. Unset means 60, or a tenth of a shorter timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86_400))]
    pub wrap_up_seconds: Option<i64>,

    /// Higher ones are begun first.
    #[serde(default, skip_serializing_if = "omit_zero")]
    #[schemars(range(min = -1000, max = 1000))]
    pub priority: i32,

    /// Two requests of one owner with the same key are one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub idempotency_key: Option<String>,

    /// How the commit is written.
    #[serde(default, skip_serializing_if = "CommitRules::is_unset")]
    pub commit: CommitRules,

    /// What may leave, and when.
    #[serde(default, skip_serializing_if = "DeliveryRules::is_unset")]
    pub delivery: DeliveryRules,

    /// Secrets that the brokers use on the task's behalf. They never enter the sandbox.
    #[serde(default, skip_serializing_if = "Credentials::is_unset")]
    pub credentials: Credentials,

    /// How much of a model the agent may use.
    #[serde(default, skip_serializing_if = "ModelBudget::is_unset")]
    pub budget: ModelBudget,

    /// Raised to begin a task again that is over, from its start.
    #[serde(default, skip_serializing_if = "omit_zero")]
    #[schemars(range(min = 0))]
    pub retries: i32,

    /// Raised to deliver again what is kept of a task that is over, as it is.
    #[serde(default, skip_serializing_if = "omit_zero")]
    #[schemars(range(min = 0))]
    pub redeliveries: i32,

    /// Ends the task: what was done so far is kept.
    #[serde(default, skip_serializing_if = "omit_zero")]
    pub cancelled: bool,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentTaskStatus {
    /// Where the task is. Unset means that nobody has looked at it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TaskPhase")]
    pub phase: Option<TaskPhase>,

    /// Why it is there, where that is not what one would expect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Reason")]
    pub reason: Option<Reason>,

    /// The metadata.generation this status was written for.
    #[serde(default, skip_serializing_if = "omit_zero")]
    #[schemars(range(min = 0))]
    pub observed_generation: i64,

    /// How often it was begun again, of `spec.retries`.
    #[serde(default, skip_serializing_if = "omit_zero")]
    #[schemars(range(min = 0))]
    pub retries: i32,

    /// How often it was delivered again, of `spec.redeliveries`.
    #[serde(default, skip_serializing_if = "omit_zero")]
    #[schemars(range(min = 0))]
    pub redeliveries: i32,

    /// What was done, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub steps: Vec<Step>,

    /// The claim, or the Sandbox, that the task works in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sandbox: String,

    /// The process of the agent in it, by which it is found again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub process: String,

    /// The branch that the task works on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub branch: String,

    /// The commit that the remote had under that name when the task began, if any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub branch_before: String,

    /// The branch that it began from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base_branch: String,

    /// The commit that it began from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base_commit: String,

    /// The commit with the work: on the remote if the task succeeded, and otherwise in its bundle.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,

    /// Whether verify commands passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Verdict")]
    pub verdict: Option<Verdict>,

    /// How large the change is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DiffStat")]
    pub diff_stat: Option<DiffStat>,

    /// What was used of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Usage")]
    pub usage: Option<Usage>,

    /// What is kept of it by the task service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub artifacts: Vec<Artifact>,

    /// When its work began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,

    /// When the agent must have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,

    /// When it came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,

    /// Succeeded: whether its commit was read back from the remote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
}
