//! Two Sandboxes whose names have the same hash.

use super::super::fixtures::{NOON, World, sandbox, seconds_after};
use super::super::{Due, status_is_due};
use super::{ready, summary};

fn younger(world: World) -> World {
    world.with_older_twin("first")
}

#[test]
fn the_younger_one_gets_nothing_and_is_told_why() {
    let world = younger(sandbox("demo").with_service(true).with_volume_template("work"));
    let plan = world.plan();
    assert_eq!((plan.writes().count(), plan.look_again), (0, Some(seconds_after(NOON, 60))));
    assert_eq!(
        ready(&world),
        format!(
            "False/NameHashCollision: the name has the same hash ({}) as that of Sandbox \"first\", which was there \
             first, and Services select by it; use another name",
            world.observed().name_hash()
        )
    );
    assert_eq!(status_is_due(&world.observed().sandbox, &world.status(), NOON), Due::Now);
}

#[test]
fn what_it_has_can_still_be_suspended_and_can_expire() {
    let suspended = younger(sandbox("demo").suspended().with_ready_pod());
    assert_eq!(summary(&suspended.plan().pod.writes), ["delete Pod demo Background"]);

    let mut expired = younger(sandbox("demo").with_ready_pod()).expiring_at(NOON, "Retain");
    expired.settle();
    assert_eq!(summary(&expired.plan().pod.writes), ["delete Pod demo Background"]);
}

#[test]
fn it_gets_everything_once_the_older_one_is_gone() {
    let mut world = younger(sandbox("demo"));
    world.settle();
    world.twin = None;
    assert_eq!(summary(&world.plan().pod.writes), ["create Pod demo"]);
}
