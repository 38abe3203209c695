//! Where a task goes from what became of its phase. The only way to success is that its commit was read back from the remote,
//! or that there was nothing to commit and nobody minds.

use asb_types::tasks::{DeliveryMode, DeliveryRules, Reason, TaskPhase, Verdict};

/// What became of the phase that a task was in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its turn has come.
    Chosen,
    /// The workspace is there, and setup has passed.
    Prepared,
    /// The agent ended by itself, with this code.
    AgentEnded { code: i32 },
    /// Verify commands ran, or there are none.
    Verified(Verdict),
    /// The commit was pushed, and fetched again from the remote into an empty repository.
    ReadBack,
    /// There is nothing to commit.
    Unchanged,
    /// It cannot go on.
    Trouble(Reason),
    /// Somebody ended it.
    Cancelled,
    /// It has had its time.
    OutOfTime,
}

/// Where to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    pub phase: TaskPhase,
    pub reason: Option<Reason>,
}

impl Next {
    fn to(phase: TaskPhase) -> Self {
        Self { phase, reason: None }
    }

    fn because(phase: TaskPhase, code: &str, message: String) -> Self {
        Self { phase, reason: Some(Reason { code: code.to_owned(), message }) }
    }

    /// Whether what was done must be kept before this is written: a task that ends otherwise than by success, after there
    /// was something that could be lost.
    pub fn is_to_be_rescued(&self, from: TaskPhase) -> bool {
        self.phase.is_final() && self.phase != TaskPhase::Succeeded && from != TaskPhase::Queued
    }
}

/// Total: every phase has an answer to everything. What cannot follow (a result of a phase that is over) changes nothing.
pub fn next(phase: TaskPhase, outcome: &Outcome, rules: &DeliveryRules) -> Next {
    use TaskPhase::{Delivering, Preparing, Queued, Running, Verifying};
    if phase.is_final() {
        return Next::to(phase);
    }
    match (phase, outcome) {
        (_, Outcome::Trouble(reason)) => Next { phase: TaskPhase::Failed, reason: Some(reason.clone()) },
        (_, Outcome::Cancelled) => cancelled(),
        // What is being delivered is done: it is not thrown away because the clock strikes.
        (Preparing | Running | Verifying, Outcome::OutOfTime) => out_of_time(phase),
        (Queued, Outcome::Chosen) => Next::to(Preparing),
        (Preparing, Outcome::Prepared) => Next::to(Running),
        (Running, Outcome::AgentEnded { code: 0 }) => Next::to(Verifying),
        (Running, Outcome::AgentEnded { code }) => agent_failed(*code),
        (Verifying, Outcome::Verified(verdict)) => verified(*verdict, rules),
        (Delivering, Outcome::ReadBack) => Next::to(TaskPhase::Succeeded),
        (Delivering, Outcome::Unchanged) => unchanged(rules),
        _ => Next::to(phase),
    }
}

/// A task that is over is begun again where somebody asks for it.
pub fn again(phase: TaskPhase, deliver_only: bool) -> Option<TaskPhase> {
    let whence = if deliver_only { TaskPhase::Delivering } else { TaskPhase::Queued };
    (phase.is_final() && (phase != TaskPhase::Succeeded || !deliver_only)).then_some(whence)
}

fn verified(verdict: Verdict, rules: &DeliveryRules) -> Next {
    match (verdict, rules.mode) {
        (Verdict::Failed, DeliveryMode::WhenVerified) => Next::because(
            TaskPhase::Failed,
            "VerifyFailed",
            "a verify command failed, so nothing was pushed; the work is kept: look at it, and deliver it by a retry".into(),
        ),
        _ => Next::to(TaskPhase::Delivering),
    }
}

fn unchanged(rules: &DeliveryRules) -> Next {
    let message = "the agent changed nothing, so there is no commit".to_owned();
    let phase = if rules.require_change { TaskPhase::Failed } else { TaskPhase::Succeeded };
    Next::because(phase, "NoChange", message)
}

fn agent_failed(code: i32) -> Next {
    let message =
        format!("the agent ended with code {code}; what it did is kept, and its output is in the log");
    Next::because(TaskPhase::Failed, "AgentFailed", message)
}

fn cancelled() -> Next {
    Next::because(TaskPhase::Cancelled, "Cancelled", "the task was cancelled; what was done is kept".into())
}

fn out_of_time(phase: TaskPhase) -> Next {
    let doing = match phase {
        TaskPhase::Preparing => "the workspace was not ready",
        TaskPhase::Running => "the agent was not done",
        _ => "verify commands were not done",
    };
    Next::because(TaskPhase::TimedOut, "DeadlineExceeded", format!("{doing} in time; what was done is kept"))
}

#[cfg(test)]
mod tests {
    use asb_types::tasks::TaskPhase::{
        Cancelled, Delivering, Failed, Preparing, Queued, Running, Succeeded, TimedOut, Verifying,
    };
    use proptest::prelude::*;

    use super::*;

    fn trouble() -> Outcome {
        Outcome::Trouble(Reason { code: "SandboxLost".into(), message: "gone".into() })
    }

    fn walk(outcomes: &[Outcome], rules: &DeliveryRules) -> TaskPhase {
        outcomes.iter().fold(Queued, |phase, outcome| next(phase, outcome, rules).phase)
    }

    fn well() -> Vec<Outcome> {
        vec![
            Outcome::Chosen,
            Outcome::Prepared,
            Outcome::AgentEnded { code: 0 },
            Outcome::Verified(Verdict::Passed),
            Outcome::ReadBack,
        ]
    }

    #[test]
    fn a_task_that_goes_well_passes_every_phase() {
        let rules = DeliveryRules::default();
        let phases: Vec<_> = (0..=5).map(|steps| walk(&well()[..steps], &rules)).collect();
        assert_eq!(phases, [Queued, Preparing, Running, Verifying, Delivering, Succeeded]);
    }

    #[test]
    fn what_fails_says_why() {
        let rules = DeliveryRules::default();
        let failed = next(Running, &Outcome::AgentEnded { code: 3 }, &rules);
        assert_eq!(
            (failed.phase, failed.reason.map(|reason| reason.code)),
            (Failed, Some("AgentFailed".into()))
        );
        let late = next(Verifying, &Outcome::OutOfTime, &rules);
        assert_eq!(
            (late.phase, late.reason.map(|reason| reason.code)),
            (TimedOut, Some("DeadlineExceeded".into()))
        );
    }

    #[test]
    fn what_does_not_pass_is_delivered_only_where_that_was_asked_for() {
        let failed = Outcome::Verified(Verdict::Failed);
        let rules = |mode| DeliveryRules { mode, ..Default::default() };
        assert_eq!(next(Verifying, &failed, &rules(DeliveryMode::WhenVerified)).phase, Failed);
        assert_eq!(next(Verifying, &failed, &rules(DeliveryMode::Always)).phase, Delivering);
    }

    #[test]
    fn no_change_is_a_stated_outcome() {
        let strict = DeliveryRules { require_change: true, ..Default::default() };
        for (rules, phase) in [(DeliveryRules::default(), Succeeded), (strict, Failed)] {
            let next = next(Delivering, &Outcome::Unchanged, &rules);
            assert_eq!((next.phase, next.reason.map(|reason| reason.code)), (phase, Some("NoChange".into())));
        }
    }

    #[test]
    fn what_is_being_delivered_is_not_out_of_time() {
        assert_eq!(next(Delivering, &Outcome::OutOfTime, &DeliveryRules::default()).phase, Delivering);
    }

    #[test]
    fn a_task_that_is_over_begins_again_only_where_it_may() {
        assert_eq!(again(Failed, false), Some(Queued));
        assert_eq!(again(TimedOut, true), Some(Delivering));
        assert_eq!(again(Succeeded, true), None, "it is delivered");
        assert_eq!(again(Running, false), None);
    }

    fn outcome() -> impl Strategy<Value = Outcome> {
        prop_oneof![
            Just(Outcome::Chosen),
            Just(Outcome::Prepared),
            (0..2i32).prop_map(|code| Outcome::AgentEnded { code }),
            Just(Outcome::Verified(Verdict::Passed)),
            Just(Outcome::Verified(Verdict::Failed)),
            Just(Outcome::ReadBack),
            Just(Outcome::Unchanged),
            Just(trouble()),
            Just(Outcome::Cancelled),
            Just(Outcome::OutOfTime),
        ]
    }

    fn rules() -> impl Strategy<Value = DeliveryRules> {
        let modes = [DeliveryMode::WhenVerified, DeliveryMode::Always];
        (prop::sample::select(modes.to_vec()), any::<bool>())
            .prop_map(|(mode, require_change)| DeliveryRules { mode, require_change, ..Default::default() })
    }

    proptest! {
        /// Whatever happens, in whatever order.
        #[test]
        fn success_is_a_commit_that_was_read_back_or_none(story in prop::collection::vec(outcome(), 0..30), rules in rules()) {
            let mut phase = Queued;
            for outcome in &story {
                let next = next(phase, outcome, &rules);
                if next.phase == Succeeded && phase != Succeeded {
                    prop_assert_eq!(phase, Delivering);
                    prop_assert!(matches!(outcome, Outcome::ReadBack | Outcome::Unchanged));
                }
                prop_assert!(!phase.is_final() || next.phase == phase, "what is over stays over");
                prop_assert!(next.phase >= phase, "nothing goes back");
                let unexpected = [Failed, Cancelled, TimedOut].contains(&next.phase) && next.phase != phase;
                prop_assert!(!unexpected || next.reason.is_some(), "an end says why");
                phase = next.phase;
            }
        }
    }
}
