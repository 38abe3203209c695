//! Who does a task, where, and what is put into the workspace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::omit_zero;

/// CEL: one of two, never both.
const ONE_OF_TWO: &str = "has(self.preset) != (has(self.command) && size(self.command) > 0)";

/// Who does it: one of the agents that the task service knows, or any command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [{"rule": ONE_OF_TWO, "message": "an agent is either a preset or a command"}]))]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// The name of an agent that the task service knows, such as claude-code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub preset: Option<String>,

    /// A command, word by word. It finds the task's text in ASB_TASK, and in the file that ASB_TASK_FILE names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub command: Vec<String>,

    /// Further words for the command of a preset.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub args: Vec<String>,

    /// The model that it is told to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub model: Option<String>,
}

/// CEL: exactly one place.
const ONE_PLACE: &str = "[has(self.warmPool), has(self.image)].filter(said, said).size() == 1";

/// Where a task is done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [{"rule": ONE_PLACE, "message": "name a warmPool or an image"}]))]
#[serde(rename_all = "camelCase")]
pub struct SandboxSource {
    /// A SandboxWarmPool in the task's namespace, whose template asks for the runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub warm_pool: Option<String>,

    /// An image with a shell and git, for a Sandbox that is made for the task alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub image: Option<String>,
}

/// A file for the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InjectedFile {
    /// Where, relative to the workspace.
    #[schemars(length(min = 1, max = 4096))]
    pub path: String,

    /// What is in it.
    pub source: FileSource,

    /// Its mode, in octal: 0644 if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^0?[0-7]{3}$"))]
    pub mode: Option<String>,

    /// Whether it is part of the commit.
    #[serde(default, skip_serializing_if = "omit_zero")]
    pub commit: bool,
}

/// CEL: exactly one source.
const ONE_SOURCE: &str =
    "[has(self.content), has(self.configMap), has(self.secret)].filter(said, said).size() == 1";

/// What is in an injected file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [{"rule": ONE_SOURCE, "message": "a file has content, or is a key of a configMap or a secret"}]))]
#[serde(rename_all = "camelCase")]
pub struct FileSource {
    /// This text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 262_144))]
    pub content: Option<String>,

    /// What a ConfigMap has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "KeyRef")]
    pub config_map: Option<KeyRef>,

    /// What a Secret has. The agent can read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "KeyRef")]
    pub secret: Option<KeyRef>,
}

/// One key of an object in the task's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyRef {
    /// The object's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// The key in it.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// CEL: exactly one of them.
const ONE_VALUE: &str = "has(self.value) != has(self.valueFrom)";

/// A variable for setup, agent and verify commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [{"rule": ONE_VALUE, "message": "a variable has a value or a source"}]))]
#[serde(rename_all = "camelCase")]
pub struct TaskEnvVar {
    /// The variable's name.
    #[schemars(length(min = 1, max = 255), regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub name: String,

    /// The variable's value, taken literally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,

    /// Where the value comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ValueSource")]
    pub value_from: Option<ValueSource>,
}

/// CEL: exactly one of them.
const ONE_KEY: &str = "has(self.configMapKeyRef) != has(self.secretKeyRef)";

/// Where a variable's value comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [{"rule": ONE_KEY, "message": "a value comes from a configMapKeyRef or a secretKeyRef"}]))]
#[serde(rename_all = "camelCase")]
pub struct ValueSource {
    /// A key of a ConfigMap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "KeyRef")]
    pub config_map_key_ref: Option<KeyRef>,

    /// A key of a Secret. The agent can read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "KeyRef")]
    pub secret_key_ref: Option<KeyRef>,
}
