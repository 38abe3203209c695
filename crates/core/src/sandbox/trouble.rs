//! What went wrong with a Sandbox, whether it was refused here or failed out there.

use serde::Serialize;

use super::refusal::Refusal;

/// One thing that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub part: Part,
    pub class: Class,
    pub message: String,
}

/// The part of a Sandbox that a step of its plan is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Part {
    Volumes,
    Pod,
    PodName,
    Service,
    Sandbox,
}

/// What sort of trouble it is, which decides the reason in the status and whether trying again helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It may go better next time.
    Transient,
    /// The API server will not take it until the user or a policy of the cluster says something else.
    Invalid,
    /// Something that the Sandbox does not own is in its way, and may go without the operator being told where it
    /// watches a part of the cluster only.
    InTheWay,
    MultiplePods,
    NameHashCollision,
}

impl Class {
    /// Whether the Sandbox is worth another try although nothing about it has changed.
    pub fn is_worth_another_try(self) -> bool {
        matches!(self, Self::Transient | Self::InTheWay)
    }
}

impl Trouble {
    pub fn new(part: Part, class: Class, message: impl Into<String>) -> Self {
        Self { part, class, message: message.into() }
    }

    pub(super) fn from_refusal(part: Part, refusal: &Refusal) -> Self {
        Self::new(part, refusal.class(), refusal.to_string())
    }
}
