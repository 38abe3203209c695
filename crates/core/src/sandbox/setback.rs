//! What the API server would not have is not asked for again at every look: not before a while that grows, unless the
//! Sandbox asks for something else by then.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::plan::{Plan, Step, after};
use super::trouble::{Class, Part, Trouble};
use crate::write::Write;

/// What may pass is soon tried again: it is often over at once.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_millis(5);
const LAST_PAUSE: SignedDuration = SignedDuration::from_mins(5);
/// What is called invalid stays so, but for a policy of the cluster that changes.
const FIRST_RECONSIDERATION: SignedDuration = SignedDuration::from_mins(1);
const LAST_RECONSIDERATION: SignedDuration = SignedDuration::from_hours(1);

/// What was refused of a Sandbox, by part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setbacks(BTreeMap<Part, Setback>);

#[derive(Clone, Debug, PartialEq)]
struct Setback {
    asked: Vec<Write>,
    trouble: Trouble,
    failures: u32,
    since: Timestamp,
    until: Timestamp,
}

impl Setbacks {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// When something is worth another try.
    pub fn due(&self) -> Option<Timestamp> {
        self.0.values().map(|setback| setback.until).min()
    }

    /// Takes out of a plan what was refused just now, and says so in its place.
    pub(super) fn hold_back(&self, plan: &mut Plan, now: Timestamp) {
        for (part, setback) in self.0.iter().filter(|(_, setback)| setback.is_recent(now)) {
            let step = plan.step_mut(*part);
            if setback.is_about(step) {
                step.writes.clear();
                step.trouble = Some(setback.trouble.clone());
            }
        }
    }

    /// What is to be remembered once a plan was carried out and has met these troubles, its own refusals aside.
    pub(super) fn after(&self, plan: &Plan, met: &[Trouble], now: Timestamp) -> Self {
        let remembered = plan.steps().into_iter().filter_map(|(part, step)| {
            let before = self.0.get(&part);
            if step.trouble.is_some() {
                return Some((part, before?.clone()));
            }
            let trouble = met.iter().find(|trouble| trouble.part == part && !step.writes.is_empty())?;
            let failures = before.filter(|before| before.is_about(step)).map_or(0, |before| before.failures);
            Some((part, Setback::new(step, trouble.clone(), failures, now)))
        });
        Self(remembered.collect())
    }
}

impl Setback {
    fn new(step: &Step, trouble: Trouble, failures: u32, now: Timestamp) -> Self {
        let (first, last) = match trouble.class {
            Class::Invalid => (FIRST_RECONSIDERATION, LAST_RECONSIDERATION),
            _ => (FIRST_PAUSE, LAST_PAUSE),
        };
        let pause = first.saturating_mul(1 << failures.min(20)).min(last);
        let until = after(now, pause);
        Self { asked: step.writes.clone(), trouble, failures: failures + 1, since: now, until }
    }

    /// One that is yet to come was met before somebody set the clock back: nobody knows how long ago that was.
    fn is_recent(&self, now: Timestamp) -> bool {
        self.since <= now && now < self.until
    }

    fn is_about(&self, step: &Step) -> bool {
        self.asked.len() == step.writes.len()
            && self.asked.iter().zip(&step.writes).all(|(one, other)| one.asks_the_same_as(other))
    }
}
