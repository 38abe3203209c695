//! What the API server refuses is asked for again after a while, or once it is something else.

use jiff::Timestamp;
use serde_json::json;

use super::super::fixtures::{NOON, World, sandbox, seconds_after};
use super::super::{Class, Part, Plan, Trouble, plan, status};
use super::line;
use crate::write::{Kind, Write};

/// Plans at that time; every Pod is refused in this way.
fn refuse(world: &mut World, class: Class, now: Timestamp) -> Plan {
    let observed = world.observed();
    let plan = plan(&observed, now);
    let refused = Trouble::new(Part::Pod, class, "no");
    let met = if plan.pod.writes.is_empty() { Vec::new() } else { vec![refused] };
    world.memory = observed.memory.after(&plan, &met, now);
    plan
}

fn tries(plan: &Plan) -> usize {
    plan.writes()
        .filter(|write| matches!(write, Write::Create { target, .. } if target.kind == Kind::Pod))
        .count()
}

#[test]
fn a_pod_that_was_refused_is_not_asked_for_at_every_look() {
    for class in [Class::Transient, Class::Invalid] {
        let mut world = sandbox("demo");
        let asked: usize = (0..50).map(|_| tries(&refuse(&mut world, class, NOON))).sum();
        assert_eq!(asked, 1, "{class:?}");
    }
}

#[test]
fn it_is_asked_for_again_later_each_time_and_what_is_invalid_much_later() {
    let until_again = |class| {
        let mut world = sandbox("demo");
        let mut now = NOON;
        let mut pauses = Vec::new();
        for _ in 0..20 {
            assert_eq!(tries(&refuse(&mut world, class, now)), 1);
            let due = world.memory.setbacks.due().unwrap();
            pauses.push(due.duration_since(now).as_millis());
            now = due;
        }
        (pauses[0], pauses[1], pauses[19])
    };
    assert_eq!(until_again(Class::Transient), (5, 10, 300_000));
    assert_eq!(until_again(Class::Invalid), (60_000, 120_000, 3_600_000));
}

#[test]
fn a_clock_that_is_set_back_makes_nobody_wait_for_it() {
    let mut world = sandbox("demo");
    refuse(&mut world, Class::Invalid, NOON);
    assert_eq!(tries(&refuse(&mut world, Class::Invalid, seconds_after(NOON, -86_400))), 1);
}

#[test]
fn what_is_something_else_is_asked_for_at_once() {
    let mut world = sandbox("demo");
    refuse(&mut world, Class::Invalid, NOON);
    world = world.with(json!({"metadata": {"annotations": {"note": "x"}}}));
    assert_eq!(tries(&refuse(&mut world, Class::Invalid, NOON)), 0, "the Pod is the same");
    world = world
        .with_spec(json!({"podTemplate": {"spec": {"containers": [{"name": "main", "image": "other"}]}}}));
    assert_eq!(tries(&refuse(&mut world, Class::Invalid, NOON)), 1);
}

#[test]
fn meanwhile_the_status_says_why_there_is_no_pod_and_the_rest_goes_on() {
    let mut world = sandbox("demo").with_service(true);
    refuse(&mut world, Class::Invalid, NOON);
    let held = plan(&world.observed(), seconds_after(NOON, 1));
    assert_eq!((held.pod.writes.len(), held.service.writes.len()), (0, 1));
    let told = status(&world.observed(), &held.troubles(), NOON).reported.conditions;
    assert_eq!(line(&told, "Ready").as_deref(), Some("False/InvalidConfiguration: no"));
}

#[test]
fn a_pod_that_is_there_or_not_wanted_leaves_nothing_to_remember() {
    let mut world = sandbox("demo");
    refuse(&mut world, Class::Transient, NOON);
    assert!(!world.memory.is_empty());
    world = world.suspended();
    refuse(&mut world, Class::Transient, NOON);
    assert!(world.memory.is_empty());
}
