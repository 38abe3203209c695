//! Why an apply is refused: most often because a field that it would change belongs to somebody else.

use std::fmt;

use super::failure;
use super::field_set::{Path, shown};
use super::managed::{Identity, Operation};
use crate::field::Quoted;
use crate::status::{Cause, Status};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) owner: Identity,
    pub(super) path: Path,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Refusal {
    /// Sorted by owner.
    Conflicts(Vec<Conflict>),
    Status(Status),
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self::Status(failure(message))
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Status(status) => status,
            Refusal::Conflicts(conflicts) => {
                let causes = conflicts.iter().map(Cause::from).collect();
                Self::new(409, "Conflict", message(&conflicts)).with_causes(causes)
            }
        }
    }
}

impl From<&Conflict> for Cause {
    fn from(conflict: &Conflict) -> Self {
        Self {
            reason: "FieldManagerConflict".into(),
            message: format!("conflict with {}", conflict.owner),
            field: shown(&conflict.path),
        }
    }
}

fn message(conflicts: &[Conflict]) -> String {
    if let [only] = conflicts {
        let (owner, path) = (&only.owner, shown(&only.path));
        return format!("Apply failed with 1 conflict: conflict with {owner}: {path}");
    }
    let mut lines = Vec::new();
    for of_one_owner in conflicts.chunk_by(|a, b| a.owner == b.owner) {
        lines.extend(of_one_owner.first().map(|first| format!("conflicts with {}:", first.owner)));
        lines.extend(of_one_owner.iter().map(|conflict| format!("- {}", shown(&conflict.path))));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

/// `"web" with subresource "status" using apps/v1`
impl fmt::Display for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", Quoted(&self.name))?;
        if !self.subresource.is_empty() {
            write!(formatter, " with subresource {}", Quoted(&self.subresource))?;
        }
        match (self.operation, &self.api_version) {
            (Operation::Update, Some(version)) => write!(formatter, " using {version}"),
            _ => Ok(()),
        }
    }
}
