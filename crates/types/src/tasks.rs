//! Coding tasks, version v1alpha1: a repository, what is to be done in it, and what became of it.
//!
//! What is large (logs, bundles, diffs) is kept by the task service, and only named here.

mod agent_task;
mod input;
mod outcome;
mod rules;

pub use agent_task::{AgentTask, AgentTaskSpec, AgentTaskStatus};
pub use input::{Agent, FileSource, InjectedFile, KeyRef, SandboxSource, TaskEnvVar, ValueSource};
pub use outcome::{Artifact, DiffStat, Reason, Step, StepState, TaskPhase, Usage, Verdict};
pub use rules::{CommitRules, Credentials, DeliveryMode, DeliveryRules, ModelBudget};

/// Group of the kinds of the task service.
pub const GROUP: &str = "tasks.agent-sandbox.dev";

pub const VERSION: &str = "v1alpha1";
