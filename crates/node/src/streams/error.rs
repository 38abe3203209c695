//! Why there is no stream, in the words that users of Kubernetes know where there are such.

use std::io;

use crate::error::full;
use crate::network::ConnectError;
use crate::shim::{client, directory};

/// What kind of refusal it is, for those who answer by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It makes no sense to ask that, or not yet.
    Bad,
    /// There is no such thing, or it does not run.
    NotFound,
    Failed,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("pods {0:?} not found")]
    NoPod(String),
    #[error("pod {0} does not have a host assigned")]
    NotScheduled(String),
    #[error("container {container} is not valid for pod {pod}")]
    NoSuchContainer { container: String, pod: String },
    #[error("a container name must be specified for pod {pod}, choose one of: [{}]", names.join(" "))]
    Ambiguous { pod: String, names: Vec<String> },
    #[error("container not found ({0:?})")]
    NotRunning(String),
    #[error("container {container:?} in pod {pod:?} is waiting to start: {reason}")]
    Waiting { container: String, pod: String, reason: String },
    #[error("container {container:?} in pod {pod:?} is not available")]
    NotAvailable { container: String, pod: String },
    #[error("previous terminated container {container:?} in pod {pod:?} not found")]
    NoPrevious { container: String, pod: String },
    #[error("pod {0:?} does not run")]
    PodNotRunning(String),
    #[error("{}", full(.0))]
    Shim(#[from] client::Error),
    #[error("{}", full(.0))]
    Directory(#[from] directory::Error),
    #[error("cannot {0}: {1}")]
    Step(&'static str, io::Error),
    #[error("failed to connect to localhost:{port} inside the Pod: {}", full(reason))]
    Connect { port: u16, reason: ConnectError },
}

impl Error {
    pub fn kind(&self) -> Kind {
        match self {
            Self::NotScheduled(_)
            | Self::NoSuchContainer { .. }
            | Self::Ambiguous { .. }
            | Self::Waiting { .. }
            | Self::NotAvailable { .. }
            | Self::NoPrevious { .. } => Kind::Bad,
            Self::NoPod(_) | Self::NotRunning(_) | Self::PodNotRunning(_) => Kind::NotFound,
            Self::Shim(_) | Self::Directory(_) | Self::Step(..) | Self::Connect { .. } => Kind::Failed,
        }
    }
}
