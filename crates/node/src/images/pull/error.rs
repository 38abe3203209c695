//! Why an image could not be pulled, so that users recognise it and callers can tell the cases apart.

use std::io;
use std::path::PathBuf;

use tokio::task::JoinError;

use super::super::digest::Digest;
use super::super::platform::Platform;
use super::super::reference::Reference;
use super::super::registry::RegistryError;
use super::super::store::{ImportError, InvalidImage};

#[derive(Debug, thiserror::Error)]
#[error("failed to pull image \"{reference}\": {failure}")]
pub struct PullError {
    pub reference: Reference,
    pub failure: PullFailure,
}

#[derive(Debug, thiserror::Error)]
pub enum PullFailure {
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Image(#[from] InvalidImage),
    #[error("the image has no variant for {0}")]
    Platform(Platform),
    #[error("{host} gave {found} where {expected} was asked for")]
    Digest { host: String, expected: Digest, found: Digest },
    #[error("{host} gave more than the {size} bytes of {digest}")]
    TooLong { host: String, digest: Digest, size: u64 },
    #[error(transparent)]
    Import(ImportError),
    #[error("{}: {source}", .path.display())]
    Disk { path: PathBuf, source: io::Error },
    #[error("trust in the registry could not be set up: {0}")]
    Trust(io::Error),
    #[error("the pull was ended")]
    Ended(#[source] JoinError),
}

/// What a caller does about it depends on this alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    NotFound,
    Unauthorized,
    /// Or too busy to answer.
    Unreachable,
    /// The image is broken, hostile or not for this machine: trying again is in vain until it changes.
    Unusable,
    /// It is this machine's fault.
    Local,
}

impl PullError {
    pub fn class(&self) -> Class {
        match &self.failure {
            PullFailure::Registry(RegistryError::NotFound { .. }) => Class::NotFound,
            PullFailure::Registry(RegistryError::Unauthorized { .. }) => Class::Unauthorized,
            PullFailure::Registry(RegistryError::Unreachable { .. } | RegistryError::Busy { .. }) => {
                Class::Unreachable
            }
            PullFailure::Import(ImportError::Layer { source, .. }) if !source.is_refusal() => Class::Local,
            PullFailure::Import(ImportError::Store(_))
            | PullFailure::Disk { .. }
            | PullFailure::Trust(_)
            | PullFailure::Ended(_) => Class::Local,
            _ => Class::Unusable,
        }
    }
}
