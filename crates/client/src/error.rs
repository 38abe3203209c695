//! Why something could not be done. What a person can do about it is for the command line to say.

use std::path::PathBuf;

use kube::runtime::watcher;

use crate::address::{BadAddress, Match};
use crate::progress::Obstacle;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no kubeconfig at {}", .path.display())]
    NoKubeconfig { path: PathBuf },
    #[error("the kubeconfig {} cannot be used", .path.display())]
    Kubeconfig { path: PathBuf, source: Box<kube::config::KubeconfigError> },
    #[error(transparent)]
    BadAddress(#[from] BadAddress),
    #[error("there is no {what} {name:?} in namespace {namespace:?}")]
    NotFound { what: &'static str, name: String, namespace: String },
    #[error("{name:?} may be {}", listed(.candidates))]
    Ambiguous { name: String, candidates: Vec<Match> },
    #[error("claim {claim:?} has no Sandbox yet")]
    Unclaimed { claim: String },
    #[error("Sandbox {name:?} is suspended")]
    Suspended { name: String },
    #[error("Sandbox {name:?} has no Pod that runs: {why}")]
    NotRunning { name: String, why: String },
    #[error("Sandbox {name:?} has no container {container:?}; it has {}", .there.join(", "))]
    NoContainer { name: String, container: String, there: Vec<String> },
    #[error("{what} {name:?} went away")]
    Gone { what: &'static str, name: String },
    #[error("{obstacle}")]
    Stuck { obstacle: Obstacle },
    #[error("Sandbox {name:?} ended before it was ready")]
    Ended { name: String },
    #[error("the connection to the command was lost")]
    Lost,
    #[error("the command could not be started: {message}")]
    NotStarted { message: String },
    #[error("nothing here says what sandboxes use: {why}")]
    NoMetrics { why: String },
    #[error("{doing}")]
    Transfer { doing: String, source: std::io::Error },
    #[error("cannot {doing}: {}", reason(.cause))]
    Api { doing: String, cause: Box<kube::Error> },
    #[error("cannot follow {what}: {}", watch_reason(.cause))]
    Watch { what: String, cause: Box<watcher::Error> },
}

impl Error {
    pub(crate) fn api(doing: impl Into<String>, cause: kube::Error) -> Self {
        Self::Api { doing: doing.into(), cause: Box::new(cause) }
    }

    /// What the API server said, if it was what refused.
    pub fn status(&self) -> Option<&kube::core::Status> {
        match self {
            Self::Api { cause, .. } => match &**cause {
                kube::Error::Api(status) => Some(status),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether there is nobody to talk to.
    pub fn is_unreachable(&self) -> bool {
        match self {
            Self::NoKubeconfig { .. } => true,
            Self::Api { cause, .. } => {
                matches!(**cause, kube::Error::Service(_) | kube::Error::HyperError(_))
            }
            _ => false,
        }
    }
}

/// What the API server said, in its words; otherwise what went wrong, down to the first cause.
fn reason(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => causes(other),
    }
}

fn watch_reason(error: &watcher::Error) -> String {
    use watcher::Error::{InitialListFailed, WatchError, WatchFailed, WatchStartFailed};
    match error {
        InitialListFailed(cause) | WatchStartFailed(cause) | WatchFailed(cause) => reason(cause),
        WatchError(status) => status.message.clone(),
        other @ watcher::Error::NoResourceVersion => other.to_string(),
    }
}

/// Each cause once: many errors repeat what caused them.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        next = cause.source();
    }
    text
}

fn listed(candidates: &[Match]) -> String {
    let names: Vec<String> = candidates.iter().map(ToString::to_string).collect();
    names.join(" or ")
}
