//! Why there is no plan for a container, in the words that users of a kubelet know.

use std::path::PathBuf;

use super::hostname::HostnameError;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the Pod has no spec")]
    NoSpec,
    #[error("container {0} not found")]
    NoContainer(String),
    #[error("configmap {0:?} not found")]
    NoConfigMap(String),
    #[error("secret {0:?} not found")]
    NoSecret(String),
    #[error("couldn't find key {key} in {kind} {namespace}/{name}")]
    NoKey { kind: &'static str, namespace: String, name: String, key: String },
    #[error("environment variable {0} has a value with a NUL byte")]
    Nul(String),
    #[error("environment variable {0} has a value that is not text")]
    NotText(String),
    #[error("environment variable {0} is to come from a file, which this node does not do")]
    FromFile(String),
    #[error("environment variables cannot be named {0:?}")]
    Variable(String),
    #[error("unsupported fieldPath: {0}")]
    Field(String),
    #[error("unsupported container resource : {0}")]
    Resource(String),
    #[error("container's runAsUser breaks non-root policy (pod: {pod:?}, container: {container})")]
    RunsAsRoot { pod: String, container: String },
    #[error("container has runAsNonRoot and image will run as root (pod: {pod:?}, container: {container})")]
    ImageRunsAsRoot { pod: String, container: String },
    #[error(
        "container has runAsNonRoot and image has non-numeric user ({user}), cannot verify user is non-root (pod: {pod:?}, container: {container})"
    )]
    UnknownUser { user: String, pod: String, container: String },
    #[error("{what} {id} is not one of the {count} ids of a Pod")]
    Id { what: &'static str, id: i64, count: u32 },
    #[error("no command specified")]
    NoCommand,
    #[error("cannot find volume {volume:?} to mount into container {container:?}")]
    NoVolume { volume: String, container: String },
    #[error("missing value for {0:?}")]
    MissingValue(String),
    #[error("subPath {path:?} of the mount at {mount}: {reason}")]
    SubPath { path: String, mount: String, reason: &'static str },
    #[error("the mount of {0:?}: mounts are not passed between host and container")]
    Propagation(String),
    #[error("the mount of {0:?} is recursively read-only, but not read-only")]
    Recursive(String),
    #[error("the mount of {0:?}: its path must lie below the root and not contain '..'")]
    MountPath(String),
    #[error("{0:?} cannot be at {path}: the kernel's own files are there", path = .1.display())]
    KernelPath(String, PathBuf),
    #[error("block devices are not given to containers: {0:?}")]
    Device(String),
    #[error("forbidden sysctl: {0:?} not allowlisted")]
    Sysctl(String),
    #[error(transparent)]
    Hostname(#[from] HostnameError),
}

impl Error {
    /// What a container waits for, as its status says.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NoCommand | Self::Id { .. } | Self::NotText(_) => "CreateContainerError",
            Self::Hostname(_) | Self::Sysctl(_) => "FailedCreatePodSandBox",
            _ => "CreateContainerConfigError",
        }
    }
}
