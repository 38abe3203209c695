//! Claims, one sentence at a time.

mod expiring;
mod launching;
mod measuring;
mod metadata;
mod telling;

use serde_json::{Value, json};

use super::fixtures::{NOON, Reply, World, after, ready, world};
use super::{Problem, Standing, Start, Step, stumbled};
use crate::allocation::Cold;
use crate::report::Failure;
use crate::write::{Deleting, Kind, Part, Write};

/// The writes of the world's next step.
fn acts(world: &World) -> Vec<Write> {
    match world.plan(NOON).step {
        Step::Act(writes) | Step::Done(writes) => writes,
        other => panic!("{other:?}"),
    }
}

fn standing(world: &World) -> Standing {
    match world.plan(NOON).step {
        Step::Tell(standing) => standing,
        other => panic!("{other:?}"),
    }
}

fn problem(world: &World) -> (&'static str, String) {
    let problem = standing(world).problem.expect("something is wrong");
    (problem.reason(), problem.message())
}

fn status_of(world: &World) -> Value {
    world.claim.as_ref().unwrap()["status"].clone()
}

fn condition(world: &World, type_: &str) -> Value {
    let conditions = status_of(world)["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == type_).unwrap_or_default()
}
