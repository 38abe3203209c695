//! What people are told besides status: events, and failures in the words of those who met them.

use serde::Serialize;

/// An event about an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    pub severity: Severity,
    pub reason: &'static str,
    pub action: &'static str,
    pub note: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Severity {
    Normal,
    Warning,
}

/// What went wrong while a plan was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It may pass: it is tried again.
    Transient(String),
    /// The API server refuses what the user asks for: only a change of the object helps.
    Permanent(String),
}

/// How a failure that may pass is told.
pub fn error_seen(problem: &str) -> String {
    format!("Error seen: {problem}")
}
