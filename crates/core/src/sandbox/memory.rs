//! What is kept about a Sandbox from one plan to the next. Lost in a restart without harm.

use jiff::Timestamp;

use super::plan::Plan;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// [`Step::put_off_since`](super::Step::put_off_since) of the Pod.
    pub put_off_since: Option<Timestamp>,
}

impl Memory {
    /// What is to be kept of a plan.
    #[must_use]
    pub fn after(plan: &Plan) -> Self {
        Self { put_off_since: plan.pod.put_off_since }
    }

    /// Whether there is nothing worth keeping.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
