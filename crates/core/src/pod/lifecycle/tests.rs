//! The life of a Pod, step by step.

use std::time::Duration;

use serde_json::json;

use super::fixtures::{Case, at, case, container, exit, verdict};
use super::*;
use crate::pod::observed::{
    Attempt, Cause, Failure, Hook, Image, PullFailure, PullReason, SandboxState, State, Stop, Volumes,
};
use crate::pod::probe::Verdict;

fn start(name: &str, attempt: u32) -> Action {
    Action::Start { container: name.to_owned(), attempt, backoff: None }
}

fn prepare(name: &str, attempt: u32) -> Action {
    Action::PrepareImage { container: name.to_owned(), attempt }
}

fn signal(name: &str) -> Action {
    Action::Signal { container: name.to_owned(), attempt: 0 }
}

fn kill(name: &str) -> Action {
    Action::Kill { container: name.to_owned(), attempt: 0 }
}

fn begin(name: &str, cause: StopCause, grace: u64) -> Action {
    Action::BeginStop { container: name.to_owned(), attempt: 0, cause, grace: Duration::from_secs(grace) }
}

fn one() -> Case {
    case(json!({"containers": [container("a")]}))
}

/// The names of those that are started.
fn started(case: &Case) -> Vec<String> {
    let names = case.plan().actions.into_iter().filter_map(|action| match action {
        Action::Start { container, .. } => Some(container),
        _ => None,
    });
    names.collect()
}

#[test]
fn volumes_and_images_come_first_then_the_sandbox_then_the_containers() {
    assert_eq!(one().plan().actions, [Action::PrepareVolumes, prepare("a", 0)]);
    let mut mounted = one().with_image("a");
    mounted.observed.volumes = Volumes::Ready;
    assert_eq!(mounted.plan().actions, [Action::CreateSandbox { attempt: 0 }]);
    assert_eq!(one().housed().plan().actions, [prepare("a", 0)]);
    assert_eq!(one().housed().with_image("a").plan().actions, [start("a", 0)]);
    assert_eq!(one().housed().running("a", 999).plan(), Plan::default());
}

#[test]
fn what_failed_is_tried_again_later_and_later() {
    let failed = |times| Failure { at: at(1000), times, message: String::new() };
    let mut case = one().with_image("a");
    case.observed.volumes = Volumes::Failed(failed(2));
    assert_eq!(case.plan(), Plan { actions: vec![], next_look: Some(at(1001)) });
    assert_eq!(case.now(1001).plan().actions, [Action::PrepareVolumes]);
    let case = one().housed().with_image("a").sandbox(SandboxState::Failed(failed(20)));
    assert_eq!(case.plan().next_look, Some(at(1120)));
    assert_eq!(case.now(1120).plan().actions, [Action::CreateSandbox { attempt: 1 }]);
}

#[test]
fn init_containers_run_one_after_the_other_and_before_the_others() {
    let case =
        case(json!({"initContainers": [container("i"), container("j")], "containers": [container("a")]}));
    let case = ["i", "j", "a"].into_iter().fold(case.housed(), Case::with_image);
    assert_eq!(started(&case), ["i"]);
    assert_eq!(started(&case.clone().running("i", 999)), [""; 0]);
    assert_eq!(started(&case.clone().exited("i", 0, 999)), ["j"]);
    assert_eq!(started(&case.exited("i", 0, 998).exited("j", 0, 999)), ["a"]);
}

#[test]
fn a_sidecar_lets_others_pass_once_it_has_started() {
    let mut sidecar = container("s");
    sidecar["restartPolicy"] = json!("Always");
    sidecar["startupProbe"] = json!({"exec": {"command": ["true"]}});
    let case = case(json!({"initContainers": [sidecar], "containers": [container("a"), container("b")]}));
    let case = case.housed().with_image("a").with_image("b").running("s", 999);
    let probe = Action::StartProbe { container: "s".to_owned(), attempt: 0, kind: ProbeKind::Startup };
    assert_eq!(case.plan().actions, [probe]);
    let passed = |attempt: &mut Attempt| {
        attempt.probes.insert(ProbeKind::Startup, verdict(Verdict::Passing));
    };
    let case = case.attempt("s", passed);
    assert_eq!(started(&case), ["a", "b"]);
    assert_eq!(
        started(&case.running("a", 999).running("b", 999).exited("s", 0, 999)),
        ["s"],
        "it is kept running"
    );
}

#[test]
fn a_container_that_crashes_waits_longer_each_time() {
    let crashed = one().housed().exited("a", 1, 1000);
    let Action::Start { backoff, attempt: 1, .. } = crashed.plan().actions[0].clone() else { panic!() };
    assert_eq!(backoff.unwrap().delay, Duration::from_secs(10));
    let again = crashed.edit("a", |container| container.backoff = backoff).now(1005);
    assert_eq!(again.plan(), Plan { actions: vec![], next_look: Some(at(1010)) });
    let Action::Start { backoff, .. } = again.now(1010).plan().actions[0].clone() else { panic!() };
    assert_eq!(backoff.unwrap().delay, Duration::from_secs(20));
}

#[test]
fn a_clock_that_is_set_back_holds_nobody_up() {
    let backoff = Some(Backoff { delay: Duration::from_mins(5), tried: at(999) });
    let crashed = one().housed().exited("a", 1, 1000).edit("a", |container| container.backoff = backoff);
    assert_eq!(started(&crashed.now(500)), ["a"]);
}

#[test]
fn policies_say_what_is_restarted() {
    let ended = |policy: &str, code| {
        let case = case(json!({"restartPolicy": policy, "containers": [container("a")]}));
        case.housed().exited("a", code, 1000).plan().actions[0].clone()
    };
    let completed = Action::End(Ending { cause: Cause::Completed, since: at(1000) });
    assert_eq!(ended("Never", 1), completed);
    assert_eq!(ended("OnFailure", 0), completed);
    assert!(matches!(ended("OnFailure", 1), Action::Start { .. }));
    assert!(matches!(ended("Always", 0), Action::Start { .. }));
}

#[test]
fn rules_of_a_container_come_before_its_policy_and_that_before_the_pods() {
    let mut ruled = container("a");
    ruled["restartPolicy"] = json!("Never");
    ruled["restartPolicyRules"] =
        json!([{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]);
    let case = case(json!({"restartPolicy": "Always", "containers": [ruled]})).housed();
    assert_eq!(started(&case.clone().exited("a", 42, 1000)), ["a"]);
    assert_eq!(started(&case.exited("a", 1, 1000)), [""; 0]);
}

#[test]
fn an_init_container_that_fails_for_good_ends_the_pod() {
    let case = case(
        json!({"restartPolicy": "Never", "initContainers": [container("i")], "containers": [container("a")]}),
    );
    let actions = case.housed().exited("i", 3, 1000).plan().actions;
    assert_eq!(actions[0], Action::End(Ending { cause: Cause::Completed, since: at(1000) }));
    assert_eq!(actions[1], Action::RemoveSandbox { attempt: 0 });
}

#[test]
fn an_image_is_asked_for_before_every_attempt_only_if_so_said() {
    let mut always = container("a");
    always["imagePullPolicy"] = json!("Always");
    let always = case(json!({"containers": [always]})).housed().exited("a", 1, 1000);
    assert_eq!(always.plan().actions, [prepare("a", 1)]);
    assert_eq!(started(&one().housed().exited("a", 1, 1000)), ["a"]);
}

#[test]
fn pulls_back_off() {
    let backoff = Backoff { delay: Duration::from_secs(40), tried: at(1000) };
    let failed =
        |reason| Image::Failed(PullFailure { at: at(1000), reason, message: String::new(), backoff });
    let with = |reason| one().housed().edit("a", |container| container.image = failed(reason));
    assert_eq!(with(PullReason::Pull).plan(), Plan { actions: vec![], next_look: Some(at(1040)) });
    assert_eq!(with(PullReason::Pull).now(1040).plan().actions, [prepare("a", 0)]);
    assert_eq!(with(PullReason::Never).plan().next_look, Some(at(1010)), "somebody may load it");
}

#[test]
fn a_probe_that_fails_stops_the_container_with_the_probes_own_grace() {
    let mut probed = container("a");
    probed["livenessProbe"] = json!({"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 3});
    let case = case(json!({"restartPolicy": "OnFailure", "containers": [probed]})).housed().running("a", 900);
    let case = case.attempt("a", |attempt| {
        attempt.probes.insert(ProbeKind::Liveness, verdict(Verdict::Failing));
    });
    assert_eq!(case.plan().actions, [begin("a", StopCause::Liveness, 3), signal("a")]);
    assert_eq!(case.plan().next_look, Some(at(1003)));
    let ended = case.attempt("a", |attempt| {
        attempt.stop = Some(Stop::begin(StopCause::Liveness, Duration::from_secs(3), at(1000)));
        attempt.state = State::Exited(exit(0, 1001));
    });
    assert_eq!(started(&ended.now(1001)), ["a"], "whatever it says on its way out");
}

#[test]
fn the_startup_probe_goes_before_the_others() {
    let mut probed = container("a");
    for kind in ["startupProbe", "readinessProbe", "livenessProbe"] {
        probed[kind] = json!({"tcpSocket": {"port": 1}});
    }
    let case = case(json!({"containers": [probed]})).housed().running("a", 900);
    let kinds = |case: &Case| -> Vec<_> {
        let steps = case.plan().actions.into_iter().map(|action| match action {
            Action::StartProbe { kind, .. } => (true, kind),
            Action::StopProbe { kind, .. } => (false, kind),
            other => panic!("{other:?}"),
        });
        steps.collect()
    };
    assert_eq!(kinds(&case), [(true, ProbeKind::Startup)]);
    let passed = case.attempt("a", |attempt| {
        attempt.probing.insert(ProbeKind::Startup);
        attempt.probes.insert(ProbeKind::Startup, verdict(Verdict::Passing));
    });
    let expected = [(false, ProbeKind::Startup), (true, ProbeKind::Readiness), (true, ProbeKind::Liveness)];
    assert_eq!(kinds(&passed), expected);
}

#[test]
fn a_hook_runs_after_the_start_and_holds_up_the_next_container() {
    let mut hooked = container("a");
    hooked["lifecycle"] = json!({"postStart": {"exec": {"command": ["true"]}}});
    let case =
        case(json!({"containers": [hooked, container("b")]})).housed().with_image("b").running("a", 999);
    assert_eq!(case.plan().actions, [Action::RunPostStart { container: "a".to_owned(), attempt: 0 }]);
    let done = |hook: Hook| case.clone().attempt("a", |attempt| attempt.post_start = hook);
    assert_eq!(done(Hook::Running).plan().actions, []);
    assert_eq!(done(Hook::Done).plan().actions, [start("b", 0)]);
    let failed = done(Hook::Failed("no".to_owned())).plan().actions;
    assert_eq!(failed, [begin("a", StopCause::PostStart, 30), signal("a"), start("b", 0)]);
}

#[test]
fn a_deleted_pod_is_signalled_and_killed_when_its_grace_is_over() {
    let case = one().housed().running("a", 900).deleted(5);
    let end = Action::End(Ending { cause: Cause::Deleted, since: at(1000) });
    assert_eq!(case.plan().actions, [end, begin("a", StopCause::Pod, 5), signal("a")]);
    let stop =
        Stop { signalled: Some(at(1000)), ..Stop::begin(StopCause::Pod, Duration::from_secs(5), at(1000)) };
    let case = case.ending(Cause::Deleted, 1000).attempt("a", |attempt| attempt.stop = Some(stop.clone()));
    assert_eq!(case.clone().now(1004).plan(), Plan { actions: vec![], next_look: Some(at(1005)) });
    assert_eq!(case.clone().now(1005).plan().actions, [kill("a")]);
    let killed = case.attempt("a", |attempt| attempt.stop.as_mut().unwrap().killed = Some(at(1005)));
    assert_eq!(killed.clone().now(1006).plan(), Plan { actions: vec![], next_look: Some(at(1015)) });
    assert_eq!(killed.now(1015).plan().actions, [kill("a")], "it is not given up");
}

#[test]
fn a_node_that_goes_down_stops_containers_in_its_own_time_and_starts_none() {
    let down = one().housed().running("a", 900).halted(1000, 10);
    assert_eq!(down.plan().actions, [begin("a", StopCause::Pod, 30), signal("a")]);
    let signalled = |attempt: &mut Attempt| {
        let stop = Stop::begin(StopCause::Pod, Duration::from_secs(30), at(1000));
        attempt.stop = Some(Stop { signalled: Some(at(1000)), ..stop });
    };
    let stopping = down.attempt("a", signalled);
    assert_eq!(stopping.clone().now(1009).plan().next_look, Some(at(1010)));
    assert_eq!(stopping.now(1010).plan().actions, [kill("a")]);
    let over = one().housed().exited("a", 0, 999);
    assert_ne!(over.clone().plan().actions, [], "otherwise it is started again");
    assert_eq!(over.halted(1000, 10).plan(), Plan::default(), "nothing is started, and nothing cleared away");
}

#[test]
fn the_hook_before_the_end_takes_from_the_grace() {
    let mut hooked = container("a");
    hooked["lifecycle"] = json!({"preStop": {"sleep": {"seconds": 9}}});
    let case = case(json!({"containers": [hooked]})).housed().running("a", 900).deleted(5);
    let case = case.ending(Cause::Deleted, 1000);
    let within = Duration::from_secs(5);
    let hook = Action::RunPreStop { container: "a".to_owned(), attempt: 0, within };
    assert_eq!(case.plan().actions, [begin("a", StopCause::Pod, 5), hook]);
    let running = |now: i64, hook: Hook| {
        let stop = Stop { pre_stop: hook, ..Stop::begin(StopCause::Pod, within, at(1000)) };
        case.clone().attempt("a", |attempt| attempt.stop = Some(stop)).now(now).plan()
    };
    assert_eq!(running(1003, Hook::Running), Plan { actions: vec![], next_look: Some(at(1005)) });
    assert_eq!(running(1003, Hook::Done).actions, [signal("a")]);
    assert_eq!(running(1005, Hook::Running), Plan { actions: vec![signal("a")], next_look: Some(at(1007)) });
}

#[test]
fn sidecars_stop_last_and_in_reverse() {
    let sidecar = |name: &str| {
        let mut sidecar = container(name);
        sidecar["restartPolicy"] = json!("Always");
        sidecar
    };
    let case = case(json!({"initContainers": [sidecar("s"), sidecar("t")], "containers": [container("a")]}));
    let case = case.housed().running("s", 900).running("t", 900).running("a", 900).deleted(30);
    let case = case.ending(Cause::Deleted, 1000);
    let signals = |case: &Case| {
        let actions = case.plan().actions;
        ["s", "t", "a"].into_iter().filter(|name| actions.contains(&signal(name))).collect::<Vec<_>>()
    };
    assert_eq!(signals(&case), ["a"]);
    assert_eq!(signals(&case.clone().exited("a", 0, 1000)), ["t"]);
    assert_eq!(signals(&case.clone().exited("a", 0, 1000).exited("t", 0, 1000)), ["s"]);
    assert_eq!(signals(&case.now(1030)), ["s", "t", "a"], "nobody waits beyond the grace");
}

#[test]
fn a_pod_goes_piece_by_piece_and_its_object_last() {
    let mut case = one().housed().exited("a", 137, 1000).deleted(5).ending(Cause::Deleted, 999);
    assert_eq!(case.plan().actions, [Action::RemoveSandbox { attempt: 0 }]);
    case = case.sandbox(SandboxState::Removing);
    assert_eq!(case.plan().actions, []);
    case = case.sandbox(SandboxState::Gone);
    assert_eq!(case.plan().actions, [Action::ReleaseVolumes]);
    case.observed.volumes = Volumes::Absent;
    assert_eq!(case.plan().actions, [], "its end has yet to be told");
    case = case.status(json!({"phase": "Failed"}));
    assert_eq!(case.plan().actions, [Action::Remove { container: "a".to_owned(), attempt: 0 }]);
    case.observed.containers.clear();
    assert_eq!(case.plan().actions, [Action::DeletePod]);
    case.pod.metadata.deletion_grace_period_seconds = Some(0);
    assert_eq!(case.plan().actions, [], "others hold it");
}

#[test]
fn a_pod_that_has_ended_is_kept_for_its_logs() {
    let mut case =
        one().housed().exited("a", 0, 900).ending(Cause::Completed, 900).sandbox(SandboxState::Gone);
    case.observed.volumes = Volumes::Absent;
    assert_eq!(case.plan(), Plan::default());
}

#[test]
fn a_deadline_ends_the_pod() {
    let case =
        case(json!({"activeDeadlineSeconds": 60, "containers": [container("a")]})).housed().running("a", 950);
    let case = case.status(json!({"startTime": "1970-01-01T00:15:50Z"}));
    assert_eq!(case.plan().next_look, Some(at(1010)));
    let actions = case.now(1010).plan().actions;
    assert_eq!(actions[0], Action::End(Ending { cause: Cause::DeadlineExceeded, since: at(1010) }));
    assert_eq!(actions[2], signal("a"));
}

#[test]
fn a_pod_is_refused_before_it_runs_and_never_while() {
    let rejection = Rejection { reason: "OutOfcpu".to_owned(), message: "no".to_owned() };
    let mut refused = one();
    refused.rejection = Some(rejection);
    let cause = Cause::Refused { reason: "OutOfcpu".to_owned(), message: "no".to_owned() };
    assert_eq!(refused.plan().actions, [Action::End(Ending { cause, since: at(1000) })]);
    assert_eq!(refused.housed().running("a", 900).plan().actions, []);
}

#[test]
fn a_sandbox_that_is_lost_is_made_anew_and_initialized_anew() {
    let case = case(json!({"initContainers": [container("i")], "containers": [container("a")]}));
    let lost = case.housed().exited("i", 0, 900).exited("a", 137, 1000).sandbox(SandboxState::Dead);
    assert_eq!(lost.plan().actions, [Action::RemoveSandbox { attempt: 0 }]);
    let gone = lost.sandbox(SandboxState::Gone);
    assert_eq!(gone.plan().actions, [Action::CreateSandbox { attempt: 1 }]);
    let mut anew = gone.sandbox(SandboxState::Ready);
    anew.observed.sandbox.as_mut().unwrap().attempt = 1;
    assert_eq!(started(&anew), ["i"]);
    let mut never = anew.sandbox(SandboxState::Dead);
    never.pod.spec.as_mut().unwrap().restart_policy = Some("Never".to_owned());
    assert!(matches!(never.plan().actions[0], Action::End(Ending { cause: Cause::Completed, .. })));
}

#[test]
fn of_old_attempts_the_last_is_kept() {
    let case = one().housed().running("a", 900).attempt("a", |attempt| attempt.number = 3);
    let case = case.edit("a", |container| container.leftover = vec![0, 1, 2]);
    let remove = |attempt| Action::Remove { container: "a".to_owned(), attempt };
    assert_eq!(case.plan().actions, [remove(0), remove(1)]);
}
