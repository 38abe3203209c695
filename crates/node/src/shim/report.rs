//! How a process that was to become a program says that it could not.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;

use serde::{Deserialize, Serialize};

use super::confinement;
use super::protocol::Reason;

/// The exit code of what never ran, as Kubernetes knows it.
pub(super) const NOT_STARTED: i32 = 128;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Failure {
    pub(super) reason: Reason,
    pub(super) message: String,
}

/// Tells it and closes the descriptor. There is nobody left to tell if that fails.
pub(super) fn failure(descriptor: Option<OwnedFd>, error: &confinement::Error) {
    let reason = if error.is_the_programs() { Reason::Program } else { Reason::Setup };
    tell(descriptor, &Failure { reason, message: error.full() });
}

pub(super) fn tell(descriptor: Option<OwnedFd>, failure: &Failure) {
    if let (Some(descriptor), Ok(text)) = (descriptor, serde_json::to_vec(failure)) {
        let _ = File::from(descriptor).write_all(&text);
    }
}

/// What arrived by the time the descriptor was closed: nothing, if the program runs.
pub(super) fn read(text: &[u8]) -> Option<Failure> {
    if text.is_empty() {
        return None;
    }
    Some(serde_json::from_slice(text).unwrap_or_else(|_| Failure {
        reason: Reason::Internal,
        message: String::from_utf8_lossy(text).into_owned(),
    }))
}
