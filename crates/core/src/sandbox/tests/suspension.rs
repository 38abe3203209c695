//! A Sandbox that is suspended.

use serde_json::json;

use super::super::fixtures::{NOON, pod, sandbox, seconds_after, service, volume};
use super::super::{Class, Part, Trouble};
use super::{line, ready, said, summary};

const NOT_OWNED: &str = "False/PodNotOwned: Refused to delete pod because it is not owned by this sandbox";

#[test]
fn suspending_deletes_the_pod_and_keeps_the_volumes_and_the_service() {
    let world = sandbox("demo")
        .suspended()
        .with_volume_template("work")
        .having(volume("work", "demo").owned())
        .having(service("demo").owned().with(json!({"spec": {"selector": {
            "agents.x-k8s.io/sandbox-name-hash": sandbox("demo").observed().name_hash()}}})))
        .with_ready_pod();
    let writes: Vec<_> = world.plan().writes().cloned().collect();
    assert_eq!(summary(&writes), ["delete Pod demo Background"]);
}

#[test]
fn a_pod_that_is_going_is_not_asked_again() {
    let world =
        sandbox("demo").suspended().having(pod("demo").owned().terminating(seconds_after(NOON, 9), 30));
    assert_eq!(world.plan().writes().count(), 0);
    let suspended = said(&world, "Suspended").unwrap();
    assert_eq!(suspended, "False/PodTerminating: Pod is terminating. Sandbox is suspending");
    assert_eq!(ready(&world), "False/SandboxSuspended: Sandbox is suspending");
}

#[test]
fn a_sandbox_without_its_pod_is_suspended_and_names_none() {
    let world = sandbox("demo").suspended().with_pod_name("demo");
    assert!(summary(&world.plan().pod_name.writes)[0].contains("null"));
    let suspended = said(&world, "Suspended").unwrap();
    assert_eq!(suspended, "True/PodTerminated: Pod has been terminated. Sandbox is suspended");
    assert_eq!(ready(&world), "False/SandboxSuspended: Sandbox is suspended");
    assert_eq!(world.status().value()["phase"], "Suspended");
}

#[test]
fn a_pod_that_is_not_ours_is_never_deleted() {
    for found in [pod("demo").foreign(), pod("demo"), pod("demo").adoptable().tracked("demo")] {
        let world = sandbox("demo").suspended().having(found).with_pod_name("demo");
        let plan = world.plan();
        assert_eq!(plan.pod, super::super::Step::default());
        assert!(summary(&plan.pod_name.writes)[0].contains("null"));
        assert_eq!(said(&world, "Suspended").as_deref(), Some(NOT_OWNED));
        assert_eq!(ready(&world), "False/SandboxSuspended: Sandbox is suspending");
    }
}

#[test]
fn several_pods_cannot_be_suspended() {
    let world = sandbox("demo").suspended().having(pod("a").owned()).having(pod("b").owned());
    assert_eq!(world.plan().pod.writes, []);
    assert_eq!(
        said(&world, "Suspended").as_deref(),
        Some("Unknown/PodStateUnknown: Pod state is unknown. Sandbox suspension cannot be confirmed")
    );
}

#[test]
fn suspension_is_unknown_when_the_pod_could_not_be_deleted() {
    let world = sandbox("demo").suspended().with_ready_pod();
    let failure = Trouble::new(Part::Pod, Class::Transient, "the server is busy");
    let conditions = world.status_after(&[failure]).reported.conditions;
    let expected = "Unknown/PodStateUnknown: Pod state is unknown. Sandbox suspension cannot be confirmed";
    assert_eq!(line(&conditions, "Suspended").as_deref(), Some(expected));
    assert_eq!(
        line(&conditions, "Ready").as_deref(),
        Some("False/ReconcilerError: Error seen: the server is busy")
    );
}

#[test]
fn a_pod_that_is_going_is_known_to_go_whatever_else_failed() {
    let found = pod("demo").owned().terminating(seconds_after(NOON, 9), 30);
    let failure = Trouble::new(Part::Pod, Class::Transient, "the server is busy");
    let conditions = sandbox("demo").suspended().having(found).status_after(&[failure]).reported.conditions;
    let expected = "False/PodTerminating: Pod is terminating. Sandbox is suspending";
    assert_eq!(line(&conditions, "Suspended").as_deref(), Some(expected));
}

#[test]
fn the_selector_stays_and_the_rest_of_the_pod_is_forgotten() {
    let mut world = sandbox("demo").with_ready_pod();
    world.settle();
    world = world.suspended();
    world.pods.clear();
    world.settle();
    let status = world.status().reported;
    assert_eq!((status.pod_ips.len(), status.node_name.as_str()), (0, ""));
    assert!(status.selector.starts_with("agents.x-k8s.io/sandbox-name-hash="));
}

#[test]
fn a_resumed_sandbox_gets_a_new_pod() {
    let mut world = sandbox("demo").suspended();
    world.settle();
    world = world.with_spec(json!({"operatingMode": "Running"}));
    assert_eq!(summary(&world.plan().pod.writes), ["create Pod demo"]);
    assert_eq!(said(&world, "Suspended").as_deref(), Some("False/NotSuspended: Sandbox is not suspended"));
}
