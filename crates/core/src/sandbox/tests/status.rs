//! What the status of a Sandbox says, and when it is worth a write.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::super::fixtures::{NOON, Object, World, pod, sandbox, seconds_after};
use super::super::{Class, Due, Part, Trouble, status_is_due};
use super::{line, ready, said};
use crate::write::Kind;

fn having(pod: Object) -> World {
    sandbox("demo").having(pod.owned()).with_pod_name("demo")
}

#[test]
fn the_whole_status_of_a_ready_sandbox() {
    let mut world = sandbox("demo").with_ready_pod().with_service(true);
    world.settle();
    insta::assert_yaml_snapshot!(world.status().value());
}

#[test]
fn readiness_follows_the_pod() {
    let not_ready = |message: &str| format!("False/DependenciesNotReady: {message}");
    assert_eq!(ready(&sandbox("demo")), not_ready("Pod does not exist"));
    assert_eq!(ready(&having(pod("demo"))), not_ready("Pod exists with phase: "));
    assert_eq!(ready(&having(pod("demo").in_phase("Pending"))), not_ready("Pod exists with phase: Pending"));
    assert_eq!(ready(&having(pod("demo").in_phase("Running"))), not_ready("Pod is Running but not Ready"));
    let unreachable = pod("demo").ready().with(json!({"status": {"podIPs": null}}));
    assert_eq!(ready(&having(unreachable)), not_ready("Pod is Ready but has no podIPs yet"));
    assert_eq!(ready(&having(pod("demo").ready())), "True/DependenciesReady: Pod is Ready");
}

#[test]
fn a_pod_that_ended_by_itself_finishes_its_sandbox() {
    for (phase, told) in
        [("Succeeded", "PodSucceeded: Pod completed successfully"), ("Failed", "PodFailed: Pod failed")]
    {
        let world = having(pod("demo").in_phase(phase));
        assert_eq!(said(&world, "Finished"), Some(format!("True/{told}")));
        assert_eq!(ready(&world), format!("False/{told}"));
        assert_eq!(world.status().value()["phase"], phase);
    }
}

#[test]
fn finished_is_forgotten_with_the_pod() {
    let mut world = having(pod("demo").in_phase("Failed"));
    world.settle();
    world.pods.clear();
    assert_eq!(said(&world, "Finished"), None);
}

#[test]
fn scheduling_is_reported_as_the_pod_reports_it() {
    let with = |condition: Value| having(pod("demo").with(json!({"status": {"conditions": [condition]}})));
    let scheduled = |world: World| said(&world, "PodScheduled").unwrap();
    let unschedulable = with(
        json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}),
    );
    assert_eq!(scheduled(unschedulable), "False/Unschedulable: 0/1 nodes");
    assert_eq!(scheduled(with(json!({"type": "PodScheduled", "status": "True"}))), "True/PodScheduled: ");
    assert_eq!(
        scheduled(with(json!({"type": "PodScheduled", "status": "False"}))),
        "False/PodSchedulingUnknown: "
    );
    let wordy = json!({"type": "PodScheduled", "status": "False", "reason": "no node!", "message": "none"});
    assert_eq!(scheduled(with(wordy)), "False/PodSchedulingUnknown: none");
    assert_eq!(
        scheduled(having(pod("demo"))),
        "Unknown/PodSchedulingUnknown: Pod has not reported a PodScheduled condition yet"
    );
    assert_eq!(said(&sandbox("demo"), "PodScheduled"), None);
}

#[test]
fn only_a_pod_of_ours_lends_its_address() {
    let ours = sandbox("demo").with_ready_pod().status().reported;
    assert_eq!((ours.pod_ips.len(), ours.node_name.as_str()), (2, "node-1"));
    let foreign = sandbox("demo").suspended().having(pod("demo").foreign().ready()).status().reported;
    assert_eq!((foreign.pod_ips.len(), foreign.node_name.as_str()), (0, ""));
    assert!(!foreign.selector.is_empty());
}

#[test]
fn the_selector_appears_with_the_first_pod() {
    assert_eq!(sandbox("demo").status().reported.selector, "");
    assert_eq!(sandbox("demo").having(pod("demo").foreign()).status().reported.selector, "");
    let selector = having(pod("demo")).status().reported.selector;
    assert_eq!(selector, "agents.x-k8s.io/sandbox-name-hash=aefd3536");
}

#[test]
fn trouble_comes_before_everything_else() {
    let world = sandbox("demo").with_ready_pod().suspended();
    let failures = [
        Trouble::new(Part::Volumes, Class::Transient, "one"),
        Trouble::new(Part::Service, Class::Invalid, "two"),
    ];
    let conditions = world.status_after(&failures).reported.conditions;
    assert_eq!(line(&conditions, "Ready").as_deref(), Some("False/ReconcilerError: Error seen: one\ntwo"));
}

#[test]
fn what_the_api_server_will_never_take_is_called_invalid() {
    let failure =
        Trouble::new(Part::Pod, Class::Invalid, "Pod \"demo\" is invalid: spec.containers[0].image");
    assert!(!failure.class.is_worth_another_try());
    let conditions = sandbox("demo").status_after(&[failure]).reported.conditions;
    let expected = "False/InvalidConfiguration: Pod \"demo\" is invalid: spec.containers[0].image";
    assert_eq!(line(&conditions, "Ready").as_deref(), Some(expected));
}

#[test]
fn every_condition_is_of_the_generation_it_was_decided_on() {
    let world = sandbox("demo").with_ready_pod().with(json!({"metadata": {"generation": 7}}));
    let conditions = world.status().reported.conditions;
    assert_eq!(conditions.len(), 3);
    assert!(conditions.iter().all(|condition| condition.observed_generation == Some(7)));
}

#[test]
fn phases_follow_the_pod() {
    assert_eq!(sandbox("demo").status().value()["phase"], "Pending");
    assert_eq!(having(pod("demo").in_phase("Pending")).status().value()["phase"], "Pending");
    assert_eq!(having(pod("demo").in_phase("Running")).status().value()["phase"], "Running");
}

fn due(world: &World) -> Due {
    status_is_due(&world.observed().sandbox, &world.status(), NOON)
}

#[test]
fn a_status_that_is_right_already_is_not_written() {
    let mut world = sandbox("demo").with_ready_pod();
    assert_eq!(due(&world), Due::Now);
    world.settle();
    assert_eq!(due(&world), Due::No);
    assert_eq!(world.status().write(&world.observed().sandbox), None);
}

#[test]
fn the_patch_holds_only_what_differs() {
    let mut world = having(pod("demo").in_phase("Running"));
    world.settle();
    merge_pod(&mut world, json!({"spec": {"nodeName": "node-1"}}));
    let write = world.status().write(&world.observed().sandbox);
    let Some(crate::write::Write::Patch { body, .. }) = write else { panic!("a patch was expected") };
    assert_eq!(body, json!({"status": {"nodeName": "node-1"}}));
}

#[test]
fn the_node_alone_is_no_news_until_the_sandbox_is_ready() {
    let mut world = having(pod("demo").in_phase("Running"));
    world.settle();
    merge_pod(&mut world, json!({"spec": {"nodeName": "node-1"}}));
    assert_eq!(due(&world), Due::No);

    let mut world = sandbox("demo").with_ready_pod();
    world.settle();
    merge_pod(&mut world, json!({"spec": {"nodeName": "node-2"}}));
    assert_eq!(due(&world), Due::Now);
}

fn merge_pod(world: &mut World, change: Value) {
    crate::patch::merge(&mut world.pods[0], &change);
}

fn young(world: World, seconds: i64) -> World {
    let created = (NOON - SignedDuration::from_secs(seconds)).to_string();
    world.with(json!({"metadata": {"creationTimestamp": created}}))
}

#[test]
fn a_pooled_sandbox_starts_without_a_word() {
    let starting = || having(pod("demo").in_phase("Pending")).owned_by(Kind::SandboxWarmPool, "pool");
    assert_eq!(due(&young(starting(), 2)), Due::At(seconds_after(NOON, 3)));
    assert_eq!(due(&young(starting(), 5)), Due::Now);
    assert_eq!(due(&young(having(pod("demo")), 2)), Due::Now);
}

#[test]
fn a_pooled_sandbox_tells_at_once_that_it_is_ready_or_in_trouble() {
    let pooled = |world: World| young(world.owned_by(Kind::SandboxWarmPool, "pool"), 1);
    assert_eq!(due(&pooled(sandbox("demo").with_ready_pod())), Due::Now);
    assert_eq!(due(&pooled(having(pod("demo").in_phase("Failed")))), Due::Now);
    assert_eq!(due(&pooled(sandbox("demo").having(pod("demo").foreign()))), Due::Now);
    let mut fallen = pooled(sandbox("demo").with_ready_pod());
    fallen.settle();
    merge_pod(&mut fallen, json!({"status": {"conditions": []}}));
    assert_eq!(due(&fallen), Due::Now);
}
