//! What is kept about a Sandbox from one plan to the next. Lost in a restart without harm.

use jiff::Timestamp;

use super::plan::Plan;
use super::setback::Setbacks;
use super::trouble::Trouble;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// [`Step::put_off_since`](super::Step::put_off_since) of the Pod.
    pub put_off_since: Option<Timestamp>,
    pub setbacks: Setbacks,
}

impl Memory {
    /// What is to be kept once a plan was carried out and has met these troubles, besides its own.
    #[must_use]
    pub fn after(&self, plan: &Plan, met: &[Trouble], now: Timestamp) -> Self {
        Self { put_off_since: plan.pod.put_off_since, setbacks: self.setbacks.after(plan, met, now) }
    }

    /// Whether there is nothing worth keeping.
    pub fn is_empty(&self) -> bool {
        self.put_off_since.is_none() && self.setbacks.is_empty()
    }
}
