//! How asking a registry may end.

use std::error::Error;
use std::time::Duration;

/// Names the place that was asked and nothing that is secret.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("{host} cannot be reached: {reason}")]
    Unreachable { host: String, reason: String },
    #[error("{host} says: not found{}", said(.message))]
    NotFound { host: String, message: String },
    #[error("{host} denies access{}{hint}", said(.message))]
    Unauthorized { host: String, message: String, hint: String },
    #[error("{host} answers {status}{}", said(.message))]
    Busy { host: String, status: u16, message: String, after: Option<Duration> },
    #[error("{host} answers {status}{}", said(.message))]
    Refused { host: String, status: u16, message: String },
    #[error("{host} answers what no registry should: {reason}")]
    Protocol { host: String, reason: String },
}

impl RegistryError {
    /// The same may go well a little later.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Busy { .. })
    }

    /// When the server asked to come back.
    pub fn after(&self) -> Option<Duration> {
        if let Self::Busy { after, .. } = self { *after } else { None }
    }

    pub(super) fn unreachable(host: &str, error: &dyn Error) -> Self {
        Self::Unreachable { host: host.to_owned(), reason: causes(error) }
    }

    pub(super) fn protocol(host: &str, reason: impl Into<String>) -> Self {
        Self::Protocol { host: host.to_owned(), reason: reason.into() }
    }
}

fn said(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

/// An error with all that lies beneath it, each said once.
fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}
