//! The end of a Sandbox.

use serde_json::json;

use super::super::fixtures::{NOON, World, pod, sandbox, seconds_after, service, volume};
use super::super::{Class, Part, Plan, Trouble};
use super::{ready, said, summary};

/// Expired for a minute, with everything a Sandbox can have.
fn expired(policy: &str) -> World {
    sandbox("demo")
        .with_ready_pod()
        .having(service("demo").owned())
        .with_volume_template("work")
        .having(volume("work", "demo").owned())
        .expiring_at(seconds_after(NOON, -60), policy)
}

fn announced(policy: &str) -> World {
    let mut world = expired(policy);
    world.settle();
    world
}

fn writes(plan: &Plan) -> Vec<String> {
    summary(&plan.writes().cloned().collect::<Vec<_>>())
}

#[test]
fn a_sandbox_is_looked_at_again_when_it_expires() {
    let end = seconds_after(NOON, 60);
    let plan = sandbox("demo").with_ready_pod().expiring_at(end, "Retain").plan();
    assert_eq!((plan.writes().count(), plan.look_again), (0, Some(end)));
}

#[test]
fn the_end_is_announced_before_anything_goes() {
    for policy in ["Retain", "Delete"] {
        let mut world = sandbox("demo").with_ready_pod();
        world.settle();
        world = world.expiring_at(NOON, policy);
        let plan = world.plan();
        assert_eq!((plan.writes().count(), plan.look_again), (0, Some(NOON)));
        assert_eq!(ready(&world), "False/SandboxExpired: Sandbox has expired");
        assert_eq!(said(&world, "PodScheduled"), None);
        assert_eq!(world.status().reported.pod_ips.len(), 2);
    }
}

#[test]
fn pod_and_service_go_and_the_sandbox_and_its_volumes_stay() {
    let world = announced("Retain");
    assert_eq!(writes(&world.plan()), ["delete Pod demo Background", "delete Service demo Background"]);
}

#[test]
fn the_sandbox_goes_too_where_its_policy_says_so() {
    let plan = announced("Delete").plan();
    let expected =
        ["delete Pod demo Background", "delete Service demo Background", "delete Sandbox demo Background"];
    assert_eq!(writes(&plan), expected);
}

#[test]
fn of_the_status_only_the_conditions_stay() {
    let mut world = announced("Retain");
    world.settle();
    insta::assert_yaml_snapshot!(world.status().value());
}

#[test]
fn nothing_is_reset_while_something_is_still_in_the_way() {
    let mut world = sandbox("demo").with_ready_pod();
    world.settle();
    world = world.expiring_at(NOON, "Retain");
    world.settle();
    let failure = Trouble::new(Part::Pod, Class::Transient, "the server is busy");
    let status = world.status_after(&[failure]).reported;
    assert_eq!(status.pod_ips.len(), 2);
    assert_eq!(
        super::line(&status.conditions, "Ready").as_deref(),
        Some("False/SandboxExpired: Sandbox has expired")
    );
}

#[test]
fn how_it_finished_outlives_the_end() {
    let mut world = sandbox("demo").having(pod("demo").owned().in_phase("Succeeded")).with_pod_name("demo");
    world.settle();
    world = world.expiring_at(NOON, "Retain");
    world.settle();
    world.settle();
    world.pods.clear();
    assert_eq!(said(&world, "Finished").as_deref(), Some("True/PodSucceeded: Pod completed successfully"));
    assert_eq!(world.status().value()["phase"], "Succeeded");
}

#[test]
fn what_is_not_ours_survives_our_end() {
    for (found, exposed) in
        [(pod("demo"), service("demo")), (pod("demo").foreign(), service("demo").foreign())]
    {
        let mut world = sandbox("demo").having(found).having(exposed).expiring_at(NOON, "Retain");
        world.settle();
        assert_eq!(world.plan().writes().count(), 0);
    }
}

#[test]
fn what_is_going_already_is_not_asked_again() {
    let end = seconds_after(NOON, 30);
    let mut world = sandbox("demo")
        .having(pod("demo").owned().terminating(end, 30))
        .having(service("demo").owned().terminating(end, 0))
        .expiring_at(NOON, "Retain");
    world.settle();
    let plan = world.plan();
    assert_eq!((plan.writes().count(), plan.look_again), (0, Some(end)));
}

#[test]
fn every_pod_of_ours_goes_at_the_end() {
    let mut world =
        sandbox("demo").having(pod("a").owned()).having(pod("b").owned()).expiring_at(NOON, "Retain");
    world.settle();
    assert_eq!(writes(&world.plan()), ["delete Pod a Background", "delete Pod b Background"]);
}

#[test]
fn a_sandbox_that_was_kept_is_deleted_in_its_time() {
    let keeping = |seconds: u32| announced("Retain").with_spec(json!({"ttlSecondsAfterExpired": seconds}));
    let plan = keeping(90).plan();
    assert!(plan.sandbox.writes.is_empty());
    assert_eq!(plan.look_again, Some(seconds_after(NOON, 30)));
    assert_eq!(summary(&keeping(60).plan().sandbox.writes), ["delete Sandbox demo Background"]);
}

#[test]
fn moving_the_end_into_the_future_revives_the_sandbox() {
    let mut world = announced("Retain");
    world.settle();
    world.pods.clear();
    world = world.expiring_at(seconds_after(NOON, 60), "Retain");
    let plan = world.plan();
    assert_eq!(writes(&plan), ["create Pod demo"]);
    assert_eq!(ready(&world), "False/DependenciesNotReady: Pod does not exist");
}

#[test]
fn an_end_that_came_while_the_plan_was_carried_out_is_announced() {
    let mut world = sandbox("demo").with_ready_pod();
    world.settle();
    world = world.expiring_at(NOON, "Retain");
    let status = super::super::status(&world.observed(), &[], NOON).reported;
    assert_eq!(
        super::line(&status.conditions, "Ready").as_deref(),
        Some("False/SandboxExpired: Sandbox has expired")
    );
}
