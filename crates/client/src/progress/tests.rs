//! Stages of Sandboxes as an operator and a kubelet report them, and what is made of each.

use serde_json::{Value, json};

use super::*;

fn sandbox(conditions: Value) -> Sandbox {
    serde_json::from_value(json!({
        "apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "metadata": {"name": "box"},
        "spec": {"podTemplate": {"spec": {"containers": []}}}, "status": {"conditions": conditions},
    }))
    .unwrap()
}

fn ready(status: &str, reason: &str, message: &str) -> Value {
    json!({"type": "Ready", "status": status, "reason": reason, "message": message,
           "lastTransitionTime": "2030-01-01T00:00:00Z"})
}

fn pod(node: Option<&str>, status: Value) -> Pod {
    let spec = json!({"containers": [{"name": "main"}], "nodeName": node});
    serde_json::from_value(json!({"metadata": {"name": "box"}, "spec": spec, "status": status})).unwrap()
}

fn waiting_for(reason: &str, message: &str) -> Pod {
    let state = json!({"waiting": {"reason": reason, "message": message}});
    let status = json!({"name": "main", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state});
    pod(Some("node"), json!({"phase": "Pending", "containerStatuses": [status]}))
}

fn event(kind: &str, reason: &str, message: &str) -> Event {
    serde_json::from_value(json!({
        "metadata": {}, "involvedObject": {}, "type": kind, "reason": reason, "message": message,
    }))
    .unwrap()
}

fn look(pod: Option<Pod>, events: Vec<Event>) -> Outlook {
    let waits = ready("False", sandbox_ready::DEPENDENCIES_NOT_READY, "Pod is not ready");
    of_sandbox(&Snapshot { sandbox: Some(sandbox(json!([waits]))), pod, events })
}

fn with_condition(condition: Value) -> Outlook {
    of_sandbox(&Snapshot { sandbox: Some(sandbox(json!([condition]))), ..Snapshot::default() })
}

fn obstacle(reason: &str, message: &str) -> Obstacle {
    Obstacle { reason: reason.to_owned(), message: message.to_owned() }
}

#[test]
fn a_sandbox_goes_through_its_steps() {
    assert_eq!(look(None, vec![]), underway(Step::Accepted));
    assert_eq!(look(Some(pod(None, json!({"phase": "Pending"}))), vec![]), underway(Step::Scheduling));
    let creating = || Some(waiting_for("ContainerCreating", ""));
    assert_eq!(look(creating(), vec![]), underway(Step::Preparing));
    let pulling = event("Normal", "Pulling", "Pulling image \"python:3.14\"");
    let image = "python:3.14".to_owned();
    assert_eq!(look(creating(), vec![pulling.clone()]), underway(Step::Pulling { image }));
    let pulled = event("Normal", "Pulled", "Successfully pulled image");
    assert_eq!(look(creating(), vec![pulling, pulled]), underway(Step::Preparing));
    assert_eq!(look(Some(pod(Some("node"), json!({"phase": "Running"}))), vec![]), underway(Step::Starting));
    assert_eq!(with_condition(ready("True", "DependenciesReady", "")), Outlook::Ready);
}

#[test]
fn a_pod_that_finds_no_node_says_why_and_may_yet_find_one() {
    let message = "0/1 nodes are available: 1 Insufficient cpu.";
    let condition =
        json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message});
    let unscheduled = pod(None, json!({"phase": "Pending", "conditions": [condition]}));
    let obstacle = Some(obstacle("Unschedulable", message));
    assert_eq!(look(Some(unscheduled), vec![]), Outlook::Underway { step: Step::Scheduling, obstacle });
}

#[test]
fn an_image_that_cannot_be_had_is_the_end_once_it_was_tried() {
    let first = look(Some(waiting_for("ErrImagePull", "not found")), vec![]);
    let expected = Some(obstacle("ErrImagePull", "not found"));
    assert_eq!(first, Outlook::Underway { step: Step::Preparing, obstacle: expected });
    for reason in ["ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CrashLoopBackOff"] {
        let seen = look(Some(waiting_for(reason, "no such image")), vec![]);
        assert_eq!(seen, Outlook::Stuck(obstacle(reason, "no such image")));
    }
}

#[test]
fn what_the_node_complains_of_is_shown_until_it_goes_on() {
    let failed = event("Warning", "FailedMount", "secret \"x\" not found");
    let creating = || Some(waiting_for("ContainerCreating", ""));
    let expected = Some(obstacle("FailedMount", "secret \"x\" not found"));
    assert_eq!(
        look(creating(), vec![failed.clone()]),
        Outlook::Underway { step: Step::Preparing, obstacle: expected }
    );
    let since = event("Normal", "Pulled", "");
    assert_eq!(look(creating(), vec![failed, since]), underway(Step::Preparing));
}

#[test]
fn a_spec_that_is_refused_is_stuck_and_a_quota_may_pass() {
    let refusal = "spec.containers[0].image: Required value";
    let refused = with_condition(ready("False", sandbox_ready::INVALID_CONFIGURATION, refusal));
    assert_eq!(refused, Outlook::Stuck(obstacle(sandbox_ready::INVALID_CONFIGURATION, refusal)));
    let quota = "exceeded quota: few";
    let limited = with_condition(ready("False", sandbox_ready::RECONCILER_ERROR, quota));
    let obstacle = Some(obstacle(sandbox_ready::RECONCILER_ERROR, quota));
    assert_eq!(limited, Outlook::Underway { step: Step::Accepted, obstacle });
}

#[test]
fn a_sandbox_is_suspended_once_nothing_runs_and_not_while_it_is_resumed() {
    let ready = ready("False", sandbox_ready::SUSPENDED, "");
    let suspended = |status: &str| {
        json!({"type": "Suspended", "status": status, "reason": "PodTerminated", "message": "",
               "lastTransitionTime": "2030-01-01T00:00:00Z"})
    };
    let seen = |mode, status: &str| {
        let mut sandbox = sandbox(json!([ready, suspended(status)]));
        sandbox.spec.operating_mode = mode;
        of_sandbox(&Snapshot { sandbox: Some(sandbox), ..Snapshot::default() })
    };
    assert_eq!(seen(OperatingMode::Suspended, "True"), Outlook::Suspended);
    assert_eq!(seen(OperatingMode::Suspended, "False"), underway(Step::Accepted));
    assert_eq!(seen(OperatingMode::Running, "True"), underway(Step::Accepted));
}

#[test]
fn a_pod_that_has_ended_is_the_end() {
    for phase in ["Succeeded", "Failed"] {
        assert_eq!(look(Some(pod(Some("node"), json!({"phase": phase}))), vec![]), Outlook::Ended);
    }
}

#[test]
fn a_claim_without_a_pool_is_stuck_and_one_that_waits_for_a_member_is_not() {
    let claim = |condition: Value| -> SandboxClaim {
        serde_json::from_value(json!({
            "apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxClaim", "metadata": {"name": "mine"},
            "spec": {"warmPoolRef": {"name": "pool"}}, "status": {"conditions": [condition]},
        }))
        .unwrap()
    };
    let lost = of_claim(&claim(ready("False", claim_ready::WARM_POOL_NOT_FOUND, "no pool")));
    assert_eq!(lost, Outlook::Stuck(obstacle(claim_ready::WARM_POOL_NOT_FOUND, "no pool")));
    let waits = of_claim(&claim(ready("False", claim_ready::ADOPTION_PENDING, "")));
    assert_eq!(waits, underway(Step::Accepted));
    assert_eq!(of_claim(&claim(ready("True", "DependenciesReady", ""))), Outlook::Ready);
}
