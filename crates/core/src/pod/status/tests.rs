//! What is reported of Pods in all their states.

use std::time::Duration;

use serde_json::{Value, json};

use super::events::since;
use super::*;
use crate::pod::backoff::Backoff;
use crate::pod::lifecycle::fixtures::{Case, at, case, container, exit, verdict};
use crate::pod::observed::{
    Cause, Exit, ExitReason, Failure, Image, PullFailure, PullReason, Pulled, SandboxState, State, Stop,
    StopCause, Trouble, TroubleReason, User, Volumes,
};
use crate::pod::probe::{ProbeKind, Verdict};

fn status(case: &Case) -> PodStatus {
    report(case.sight(), &["192.0.2.1".to_owned()])
}

fn value(case: &Case) -> Value {
    serde_json::to_value(status(case)).unwrap()
}

fn one() -> Case {
    case(json!({"containers": [container("a")]}))
}

/// Reason and message of what a container waits for.
fn waits(case: &Case) -> Value {
    value(case)["containerStatuses"][0]["state"]["waiting"].clone()
}

/// Status and reason of a condition.
fn condition(case: &Case, kind: &str) -> (String, String, String) {
    let conditions = status(case).conditions.unwrap();
    let found = conditions.into_iter().find(|condition| condition.type_ == kind).unwrap();
    (found.status, found.reason.unwrap_or_default(), found.message.unwrap_or_default())
}

fn said(status: &str, reason: &str, message: &str) -> (String, String, String) {
    (status.to_owned(), reason.to_owned(), message.to_owned())
}

#[test]
fn a_pod_that_runs_is_reported_with_all_a_kubelet_says() {
    let mut container = container("a");
    container["resources"] = json!({"requests": {"cpu": "1"}, "limits": {"cpu": "2"}});
    container["volumeMounts"] = json!([{"name": "v", "mountPath": "/v", "readOnly": true}]);
    let case = case(json!({"containers": [container]})).housed().running("a", 990);
    let user = User { uid: 1000, gid: 1000, groups: vec![5] };
    let case = case.attempt("a", |attempt| attempt.user = Some(user));
    insta::assert_json_snapshot!(status(&case));
}

#[test]
fn a_pod_in_its_beginning_waits() {
    assert_eq!(value(&one())["phase"], "Pending");
    assert_eq!(waits(&one()), json!({"reason": "ContainerCreating"}));
    let case = case(json!({"initContainers": [container("i")], "containers": [container("a")]})).housed();
    assert_eq!(waits(&case), json!({"reason": "PodInitializing"}));
    let message = "containers with incomplete status: [i]";
    assert_eq!(condition(&case, "Initialized"), said("False", "ContainersNotInitialized", message));
    assert_eq!(condition(&case, "PodReadyToStartContainers").0, "True");
    assert_eq!(condition(&one(), "PodReadyToStartContainers").0, "False");
    let done = case.exited("i", 0, 999);
    assert_eq!(condition(&done, "Initialized").0, "True");
    assert_eq!(value(&done)["initContainerStatuses"][0]["ready"], true);
}

#[test]
fn a_crash_loop_is_told_with_its_wait() {
    let backoff = Some(Backoff { delay: Duration::from_secs(80), tried: at(998) });
    let case = one().housed().exited("a", 3, 1000).edit("a", |container| container.backoff = backoff);
    let message = "back-off 1m20s restarting failed container=a pod=p_n(u)";
    assert_eq!(waits(&case), json!({"reason": "CrashLoopBackOff", "message": message}));
    let report = value(&case);
    assert_eq!(report["phase"], "Running");
    assert_eq!(report["containerStatuses"][0]["lastState"]["terminated"]["exitCode"], 3);
    let over = value(&case.now(1080));
    assert_eq!(over["containerStatuses"][0]["state"]["terminated"]["reason"], "Error");
}

#[test]
fn an_image_that_does_not_come_is_told() {
    let failed = |reason| {
        let backoff = Backoff { delay: Duration::from_secs(10), tried: at(1000) };
        let failure = PullFailure { at: at(1000), reason, message: "no".to_owned(), backoff };
        one().housed().edit("a", |container| container.image = Image::Failed(failure))
    };
    assert_eq!(waits(&failed(PullReason::Pull)), json!({"reason": "ErrImagePull", "message": "no"}));
    let message = "Back-off pulling image \"a:1\": ErrImagePull: no";
    assert_eq!(
        waits(&failed(PullReason::Pull).now(1001)),
        json!({"reason": "ImagePullBackOff", "message": message})
    );
    let message = "Container image \"a:1\" is not present with pull policy of Never";
    assert_eq!(waits(&failed(PullReason::Never)), json!({"reason": "ErrImageNeverPull", "message": message}));
    assert_eq!(waits(&failed(PullReason::Name))["reason"], "InvalidImageName");
}

#[test]
fn a_container_that_cannot_be_made_says_why() {
    let trouble = Trouble { at: at(999), reason: TroubleReason::Configuration, message: "no key".to_owned() };
    let case = one().housed().with_image("a").edit("a", |container| container.trouble = Some(trouble));
    assert_eq!(waits(&case), json!({"reason": "CreateContainerConfigError", "message": "no key"}));
}

#[test]
fn every_way_to_end_has_its_reason() {
    let reason = |reason, code| {
        let case = one().housed().exited("a", code, 1000).ending(Cause::Completed, 1000);
        let case = case.attempt("a", |attempt| {
            attempt.state = State::Exited(Exit { reason, ..exit(code, 1000) });
        });
        value(&case)["containerStatuses"][0]["state"]["terminated"]["reason"].clone()
    };
    assert_eq!(reason(ExitReason::Ended, 0), "Completed");
    assert_eq!(reason(ExitReason::Ended, 1), "Error");
    assert_eq!(reason(ExitReason::OutOfMemory, 137), "OOMKilled");
    assert_eq!(reason(ExitReason::CannotRun, 128), "ContainerCannotRun");
    assert_eq!(reason(ExitReason::StartError, 128), "StartError");
    assert_eq!(reason(ExitReason::Lost, 137), "ContainerStatusUnknown");
}

#[test]
fn readiness_follows_probes_and_gates() {
    let mut probed = container("a");
    probed["readinessProbe"] = json!({"tcpSocket": {"port": 1}});
    let spec = json!({"containers": [probed], "readinessGates": [{"conditionType": "x/ready"}]});
    let case = case(spec).housed().running("a", 990);
    let message = "containers with unready status: [a]";
    assert_eq!(condition(&case, "Ready"), said("False", "ContainersNotReady", message));
    let case = case.attempt("a", |attempt| {
        attempt.probes.insert(ProbeKind::Readiness, verdict(Verdict::Passing));
    });
    assert_eq!(condition(&case, "ContainersReady").0, "True");
    let message = "corresponding condition of pod readiness gate \"x/ready\" does not exist.";
    assert_eq!(condition(&case, "Ready"), said("False", "ReadinessGatesNotReady", message));
    let gate =
        |status: &str| case.clone().status(json!({"conditions": [{"type": "x/ready", "status": status}]}));
    let message = "the status of pod readiness gate \"x/ready\" is not \"True\", but False";
    assert_eq!(condition(&gate("False"), "Ready"), said("False", "ReadinessGatesNotReady", message));
    assert_eq!(condition(&gate("True"), "Ready").0, "True");
    assert_eq!(condition(&gate("True"), "x/ready").0, "True", "it is kept");
}

#[test]
fn a_condition_keeps_its_time_until_it_flips() {
    let mut case = one().housed().running("a", 990);
    case.pod.status = Some(status(&case));
    let case = case.now(2000);
    let time = |case: &Case, place: usize| {
        status(case).conditions.unwrap()[place].last_transition_time.clone().unwrap().0
    };
    assert_eq!(time(&case, 2), at(1000));
    assert_eq!(time(&case.exited("a", 1, 1999), 2), at(2000));
}

#[test]
fn an_end_is_told_when_nothing_runs_any_more() {
    let case = one().housed().running("a", 900).ending(Cause::DeadlineExceeded, 999);
    assert_eq!(value(&case)["phase"], "Running");
    let ended = value(&case.exited("a", 143, 1000));
    assert_eq!(ended["phase"], "Failed");
    assert_eq!(ended["reason"], "DeadlineExceeded");
    assert_eq!(ended["message"], "Pod was active on the node longer than the specified deadline");
    let done = one().housed().exited("a", 0, 999).ending(Cause::Completed, 999);
    assert_eq!(value(&done)["phase"], "Succeeded");
    assert_eq!(condition(&done, "Ready"), said("False", "PodCompleted", ""));
    assert_eq!(condition(&done, "Initialized"), said("True", "PodCompleted", ""));
    assert_eq!(value(&one().ending(Cause::Deleted, 999))["phase"], "Failed", "it never ran");
}

#[test]
fn a_refused_pod_has_failed_and_says_why() {
    let cause =
        Cause::Refused { reason: "UnsupportedPodSpec".to_owned(), message: "spec.hostPID: no".to_owned() };
    let report = value(&one().ending(cause, 999));
    assert_eq!((&report["phase"], &report["reason"]), (&json!("Failed"), &json!("UnsupportedPodSpec")));
    assert_eq!(report["message"], "Pod was rejected: spec.hostPID: no");
    assert_eq!(report.get("containerStatuses"), None);
}

#[test]
fn what_was_told_of_an_end_stays() {
    let case = one().status(json!({"phase": "Failed", "reason": "Evicted", "message": "no room"}));
    let report = value(&case.ending(Cause::Completed, 999));
    assert_eq!((&report["phase"], &report["reason"]), (&json!("Failed"), &json!("Evicted")));
}

#[test]
fn what_was_told_of_a_container_outlives_what_is_known_of_it() {
    let mut case = one().housed().exited("a", 7, 999).ending(Cause::Completed, 999);
    case.pod.status = Some(status(&case));
    let before = value(&case);
    case.observed.containers.clear();
    assert_eq!(value(&case)["containerStatuses"], before["containerStatuses"]);
    assert_eq!(before["containerStatuses"][0]["state"]["terminated"]["exitCode"], 7);
}

fn events(before: &Case, after: &Case) -> Vec<String> {
    let events = since(&before.observed, after.sight()).into_iter();
    events
        .map(|event| format!("{} {} ({})", event.reason, event.message, event.field.unwrap_or_default()))
        .collect()
}

#[test]
fn a_start_is_told_step_by_step() {
    let pulling = one().housed().edit("a", |container| container.image = Image::Pulling);
    assert_eq!(events(&one(), &pulling), ["Pulling Pulling image \"a:1\" (spec.containers{a})"]);
    let pulled = Pulled { took: Duration::from_secs(2), took_with_waiting: Duration::from_secs(3), bytes: 7 };
    let ready = Image::Ready { id: String::new(), attempt: 0, pulled: Some(pulled) };
    let running = one().housed().running("a", 990).edit("a", |container| container.image = ready);
    assert_eq!(
        events(&pulling, &running),
        [
            "Pulled Successfully pulled image \"a:1\" in 2s (3s including waiting). Image size: 7 bytes. (spec.containers{a})",
            "Created Container created (spec.containers{a})",
            "Started Container started (spec.containers{a})",
        ]
    );
    assert_eq!(events(&running, &running), [""; 0]);
}

#[test]
fn failures_are_told() {
    let failure = Failure { at: at(1000), times: 1, message: "no".to_owned() };
    let housed = one().housed();
    let mut unmounted = housed.clone();
    unmounted.observed.volumes = Volumes::Failed(failure.clone());
    assert_eq!(events(&housed, &unmounted), ["FailedMount Unable to attach or mount volumes: no ()"]);
    let homeless = housed.clone().sandbox(SandboxState::Failed(failure));
    assert_eq!(events(&housed, &homeless), ["FailedCreatePodSandBox Failed to create pod sandbox: no ()"]);
    let backoff = Some(Backoff { delay: Duration::from_secs(10), tried: at(998) });
    let running = housed.running("a", 990).edit("a", |container| container.backoff = backoff);
    let crashed = running.clone().exited("a", 1, 1000);
    let told = ["BackOff Back-off restarting failed container a in pod p_n(u) (spec.containers{a})"];
    assert_eq!(events(&running, &crashed), told);
    let stop = Stop::begin(StopCause::Liveness, Duration::ZERO, at(1000));
    let killed = running.clone().attempt("a", |attempt| attempt.stop = Some(stop));
    let told = ["Killing Container a failed liveness probe, will be restarted (spec.containers{a})"];
    assert_eq!(events(&running, &killed), told);
    let mut never = killed;
    never.pod.spec.as_mut().unwrap().restart_policy = Some("Never".to_owned());
    assert_eq!(events(&running, &never), ["Killing Container a failed liveness probe (spec.containers{a})"]);
}

#[test]
fn the_scheduler_speaks_as_kubernetes_does() {
    let pod = one().pod;
    assert_eq!(events::scheduled(&pod, "here").message, "Successfully assigned n/p to here");
    assert_eq!(events::preempted(&pod, "here").message, "Preempted by pod u on node here");
    assert_eq!(events::failed_scheduling("0/1").reason, "FailedScheduling");
    let members = crate::pod::member::members(pod.spec.as_ref().unwrap());
    let event = events::unhealthy(members[0], ProbeKind::Readiness, "refused");
    assert_eq!(
        (event.reason.as_str(), event.message.as_str()),
        ("Unhealthy", "Readiness probe failed: refused")
    );
}
