//! What a pool tells, and how often.

use asb_types::conditions::{PROGRESSING, READY};

use super::*;
use crate::conditions::find;
use crate::report::Failure;

/// The report after a plan, with what it writes written and what it remembers remembered.
fn told(world: &mut World, now: Timestamp, failure: Option<&Failure>) -> Report {
    let report = world.with(now, |observed, plan| report(observed, &plan, failure, now));
    if let Some(Write::Patch { body, .. }) = &report.write {
        let mut status = json!(world.pool.status);
        merge(&mut status, &body["status"]);
        world.pool.status = serde_json::from_value(status).unwrap();
    }
    world.memory.status = report.debounce.clone();
    report
}

fn merge(status: &mut serde_json::Value, patch: &serde_json::Value) {
    for (field, value) in patch.as_object().unwrap() {
        status[field] = value.clone();
        if value.is_null() {
            status.as_object_mut().unwrap().remove(field);
        }
    }
}

fn condition(world: &World, type_: &str) -> String {
    let condition = find(&world.pool.status.conditions, type_).unwrap();
    format!("{} {} | {}", condition.status, condition.reason, condition.message)
}

#[test]
fn the_status_counts_members_and_says_what_is_wanted() {
    let mut world = World::of(5).with_ready(3);
    world.make_unready(0);
    told(&mut world, second(4), None);
    insta::assert_yaml_snapshot!(world.pool.status);
}

#[test]
fn conditions_say_why_a_pool_is_not_full() {
    let mut lines = Vec::new();
    let mut say = |mut world: World, failure: Option<Failure>| {
        told(&mut world, second(9), failure.as_ref());
        lines.push(condition(&world, READY));
    };
    say(World::of(2).with_ready(2), None);
    say(World::of(2), None);
    let mut missing = World::of(2);
    missing.template = None;
    say(missing, None);
    say(World::of(2).recreate(&json!({"maxSurge": "many"})), None);
    let mut backwards = World::of(2);
    (backwards.pool.min_size, backwards.pool.max_size) = (Some(3), Some(2));
    say(backwards, None);
    let mut elastic = World::of(2);
    elastic.pool.max_size = Some(2);
    elastic.memory.demand.claimed(second(8));
    say(elastic, None);
    let mut strange = World::of(1).with_ready(2);
    strange.boxes[1].metadata.owner = None;
    strange.boxes[1].service = Some(true);
    say(strange, None);
    say(World::of(2), Some(Failure::Transient("no answer".to_owned())));
    say(World::of(2), Some(Failure::Permanent("the quota is used up".to_owned())));
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn being_held_is_told_once_and_so_is_its_end() {
    let mut world = World::of(1).with_ready(1);
    world.make_unready(0);
    world.pods = vec![Some(world::unscheduled("Unschedulable"))];
    let first = told(&mut world, second(400), None).events;
    let again = told(&mut world, second(460), None).events;
    world.pods.clear();
    world.make_all_ready(second(500));
    let last = told(&mut world, second(500), None).events;
    assert_eq!(again, []);
    assert!(condition(&world, PROGRESSING).starts_with("True"));
    insta::assert_yaml_snapshot!([first, last].concat());
}

#[test]
fn a_dip_that_is_over_in_a_moment_is_not_told() {
    let mut world = World::of(2).with_ready(2);
    told(&mut world, second(10), None);
    world.make_unready_at(0, second(20));
    let report = told(&mut world, second(20), None);
    assert_eq!((report.write, report.look_again), (None, Some(second(21))));
    world.make_all_ready(second(20));
    let report = told(&mut world, second(21), None);
    assert_eq!((report.write, report.look_again), (None, None));
}

#[test]
fn a_clock_that_is_set_back_keeps_nobody_from_being_told() {
    let mut world = World::of(2).with_ready(2);
    told(&mut world, second(100_000), None);
    world.make_unready_at(0, second(20));
    assert_eq!(told(&mut world, second(20), None).look_again, Some(second(21)));
}

#[test]
fn under_churn_the_status_is_written_once_a_second() {
    let mut world = World::of(50).with_ready(50);
    told(&mut world, second(10), None);
    let moments = (0_u32..100).map(|step| second(20) + SignedDuration::from_millis(i64::from(step) * 40));
    let writes = moments.enumerate().filter(|(step, now)| {
        world.set_ready(step % 50, *step >= 50, *now);
        told(&mut world, *now, None).write.is_some()
    });
    assert_eq!(writes.count(), 3, "for a hundred claims in four seconds");
}

#[test]
fn a_change_of_the_spec_is_acknowledged_at_once() {
    let mut world = World::of(2).with_ready(2);
    told(&mut world, second(10), None);
    world.pool.metadata.generation += 1;
    assert!(told(&mut world, second(10), None).write.is_some());
}
