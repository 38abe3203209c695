//! What must hold at every action, judged from the outside: by what was seen to happen, not by what the plans think.

use std::collections::BTreeSet;

use crate::pod::clock::later;
use crate::pod::lifecycle::fixtures::Case;
use crate::pod::lifecycle::stopping::LEAST;
use crate::pod::lifecycle::{Action, Sight};
use crate::pod::member::{Member, Role, members};
use crate::pod::observed::{Attempt, Container};
use crate::pod::probe::{ProbeKind, Verdict};

#[derive(Default)]
pub(super) struct Rules {
    /// Init containers that were seen to succeed, and sidecars to have started: in which sandbox.
    passed: BTreeSet<(u32, String)>,
    /// Attempts that were started.
    started: BTreeSet<(String, u32)>,
}

impl Rules {
    /// Takes note of how things stand.
    pub(super) fn watch(&mut self, case: &Case) {
        for member in members(case.pod.spec.as_ref().unwrap()) {
            let Some(attempt) = case.observed.attempt(member.name()) else { continue };
            if has_passed(member, attempt) {
                self.passed.insert((attempt.sandbox, member.name().to_owned()));
            }
        }
    }

    pub(super) fn check(&mut self, action: &Action, case: &Case, keeps_time: bool) {
        match action {
            Action::Start { container, attempt, .. } => self.check_start(container, *attempt, case),
            Action::Signal { container, attempt } => check_live(container, *attempt, case),
            Action::Kill { container, attempt } => {
                check_live(container, *attempt, case);
                if keeps_time {
                    check_in_time(case.sight());
                }
            }
            Action::RemoveSandbox { .. } | Action::ReleaseVolumes | Action::DeletePod => {
                assert!(!case.observed.is_live(), "{action:?} while containers run");
            }
            _ => {}
        }
    }

    fn check_start(&mut self, name: &str, attempt: u32, case: &Case) {
        let spec = case.pod.spec.as_ref().unwrap();
        let container = case.observed.container(name);
        assert!(container.and_then(Container::live).is_none(), "{name} runs already");
        assert!(self.started.insert((name.to_owned(), attempt)), "{name} had an attempt {attempt}");
        assert!(
            case.observed.ending.is_none() && case.pod.metadata.deletion_timestamp.is_none(),
            "the Pod ends"
        );
        let sandbox = case.observed.ready_sandbox().expect("there is a sandbox");
        let members = members(spec);
        let own = members.iter().find(|member| member.name() == name).unwrap();
        if spec.restart_policy.as_deref() == Some("Never") && own.role != Role::Sidecar {
            assert_eq!(attempt, 0, "{name} is restarted, which is never to be");
        }
        let before = members.iter().take_while(|member| member.name() != name);
        for other in before.filter(|member| member.role != Role::Main) {
            let passed = self.passed.contains(&(sandbox, other.name().to_owned()));
            assert!(passed, "{name} starts before {} lets it", other.name());
        }
    }
}

fn has_passed(member: Member<'_>, attempt: &Attempt) -> bool {
    let probed = member.container.startup_probe.is_some();
    match member.role {
        Role::Init => attempt.exit().is_some_and(|exit| exit.code == 0),
        Role::Sidecar => {
            attempt.is_running() && (!probed || attempt.verdict(ProbeKind::Startup) == Verdict::Passing)
        }
        Role::Main => false,
    }
}

fn check_live(name: &str, attempt: u32, case: &Case) {
    let live = case.observed.container(name).and_then(Container::live);
    assert_eq!(live.map(|live| live.number), Some(attempt), "{name} is spoken to after its end");
}

/// Once a Pod is deleted, the last kill comes no later than its grace and what every container gets.
fn check_in_time(sight: Sight<'_>) {
    let (Some(ending), Some(grace)) =
        (&sight.observed.ending, sight.pod.metadata.deletion_grace_period_seconds)
    else {
        return;
    };
    let grace = crate::pod::clock::seconds(grace);
    let deleted = sight.pod.metadata.deletion_timestamp.as_ref().unwrap().0.max(ending.since);
    let latest = later(deleted, grace + LEAST + LEAST);
    assert!(sight.now <= latest, "killed at {} and not by {latest}", sight.now);
}

mod tests {
    use serde_json::json;

    use super::*;
    use crate::pod::lifecycle::fixtures::{at, case, container};
    use crate::pod::observed::Cause;

    fn start(attempt: u32) -> Action {
        Action::Start { container: "a".to_owned(), attempt, backoff: None }
    }

    fn pod() -> Case {
        case(json!({"restartPolicy": "Never", "containers": [container("a")]})).housed()
    }

    #[test]
    #[should_panic(expected = "a starts before i lets it")]
    fn a_start_out_of_order_is_noticed() {
        let case = case(json!({"initContainers": [container("i")], "containers": [container("a")]})).housed();
        Rules::default().check(&start(0), &case.running("i", 900), false);
    }

    #[test]
    #[should_panic(expected = "a runs already")]
    fn a_second_attempt_at_once_is_noticed() {
        Rules::default().check(&start(1), &pod().running("a", 900), false);
    }

    #[test]
    #[should_panic(expected = "which is never to be")]
    fn a_restart_that_is_never_to_be_is_noticed() {
        Rules::default().check(&start(1), &pod().exited("a", 1, 900), false);
    }

    #[test]
    #[should_panic(expected = "the Pod ends")]
    fn a_start_in_a_pod_that_ends_is_noticed() {
        Rules::default().check(&start(0), &pod().ending(Cause::Deleted, 900), false);
    }

    #[test]
    #[should_panic(expected = "and not by")]
    fn a_kill_that_comes_too_late_is_noticed() {
        let case = pod().running("a", 900).deleted(5).ending(Cause::Deleted, 1000);
        let kill = Action::Kill { container: "a".to_owned(), attempt: 0 };
        Rules::default().check(&kill, &Case { now: at(1060), ..case }, true);
    }
}
