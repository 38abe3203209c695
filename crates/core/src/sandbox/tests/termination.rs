//! Pods that do not go away.

use super::super::fixtures::{NOON, World, pod, sandbox, seconds_after};
use super::super::{Node, Plan};
use super::{ready, summary};

/// A Pod whose grace of 30 seconds was over that many seconds ago.
fn overdue(seconds: i64) -> World {
    let found = pod("demo").owned().ready().terminating(seconds_after(NOON, -seconds), 30);
    sandbox("demo").having(found).with_pod_name("demo")
}

fn writes(plan: &Plan) -> Vec<String> {
    summary(&plan.pod.writes)
}

#[test]
fn a_pod_on_a_lost_node_is_removed_by_force_once_its_grace_is_over() {
    for node in [Node::Gone, Node::OutOfService] {
        for world in [overdue(0), overdue(0).suspended()] {
            assert_eq!(writes(&world.on_node("node-1", node).plan()), ["delete Pod demo Force"]);
        }
    }
}

#[test]
fn a_pod_is_not_forced_before_its_grace_is_over() {
    let plan = overdue(-1).on_node("node-1", Node::Gone).plan();
    assert_eq!((plan.writes().count(), plan.look_again), (0, Some(seconds_after(NOON, 1))));
}

#[test]
fn a_pod_on_a_node_that_is_there_or_unknown_is_not_forced() {
    for world in [
        overdue(3600),
        overdue(3600).on_node("node-1", Node::There),
        overdue(3600).on_node("node-2", Node::Gone),
    ] {
        let plan = world.plan();
        assert_eq!((plan.writes().count(), plan.look_again), (0, Some(seconds_after(NOON, 60))));
    }
}

#[test]
fn a_pod_that_does_not_end_in_time_is_called_stuck() {
    assert_eq!(ready(&overdue(29)), "False/DependenciesNotReady: Pod is terminating");
    assert_eq!(overdue(29).plan().look_again, Some(seconds_after(NOON, 1)));
    for world in [overdue(30), overdue(30).suspended()] {
        assert_eq!(
            ready(&world),
            "False/PodStuckTerminating: Pod \"demo\" should have ended and node \"node-1\" does not confirm it. It is \
             removed by force once the Node is deleted or has the taint node.kubernetes.io/out-of-service"
        );
    }
}

#[test]
fn force_does_not_help_against_finalizers_and_is_used_once() {
    let found = pod("demo").owned().ready().terminating(seconds_after(NOON, -60), 0);
    let world = sandbox("demo").having(found).with_pod_name("demo").on_node("node-1", Node::Gone);
    assert_eq!(world.plan().writes().count(), 0);
    let expected = "False/PodStuckTerminating: Pod \"demo\" has ended and is kept by its finalizers";
    assert_eq!(ready(&world), expected);
}

#[test]
fn at_the_end_a_stuck_pod_is_forced_as_well() {
    let mut world = overdue(10).on_node("node-1", Node::Gone).expiring_at(NOON, "Retain");
    world.settle();
    assert_eq!(writes(&world.plan()), ["delete Pod demo Force"]);
}

#[test]
fn after_force_a_new_pod_is_made() {
    let mut world = overdue(10).on_node("node-1", Node::Gone);
    world.settle();
    assert_eq!(writes(&world.plan()), ["create Pod demo"]);
}
