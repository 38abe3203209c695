//! How a Sandbox asks for sandboxd, the program inside it through which SDKs run commands and move files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The container that the runtime goes into, and who may use it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Runtime {
    /// The container that gets it. Unset means the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,

    /// Who may use it: Token means whoever the router or the API has given a token for this Sandbox, Open means whoever
    /// reaches the Pod's ports, as clients of the upstream runtimes expect.
    #[serde(default)]
    pub access: RuntimeAccess,

    /// The directory in which commands start and to which paths of files are relative. Unset means /app if the image has
    /// it, else the container's working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^/"))]
    pub directory: Option<String>,
}

/// Who may use the runtime of a Sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RuntimeAccess {
    #[default]
    Token,
    Open,
}
