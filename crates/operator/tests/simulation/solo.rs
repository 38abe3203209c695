//! Users who keep Sandboxes of their own, without pools and claims: with a Service, with volumes that outlive them or not,
//! and with an end.

use asb_core::write::Kind;
use serde_json::{Value, json};

use crate::users;
use crate::world::World;

const SANDBOXES: [&str; 2] = ["solo", "duo"];

pub(crate) fn create(world: &mut World) {
    let name = world.chance.pick(&SANDBOXES);
    let pod = json!({"spec": {"containers": [{"name": "main", "image": "demo:1"}]}});
    let mut spec = json!({"podTemplate": pod, "volumeClaimRetentionPolicy": {"whenDeleted": kept(world)}});
    if world.chance.one_in(2) {
        spec["service"] = json!(true);
    }
    if world.chance.one_in(2) {
        spec["volumeClaimTemplates"] = json!([users::volume("work"), users::volume("cache")]);
    }
    if world.chance.one_in(4) {
        let seconds = i64::try_from(world.chance.below(40)).expect("a small number");
        let end = world.now().saturating_add(jiff::SignedDuration::from_secs(seconds)).expect("soon");
        spec["shutdownTime"] = json!(format!("{end:.0}"));
        spec["shutdownPolicy"] = json!(world.chance.pick(&["Retain", "Delete"]));
    }
    users::create(world, Kind::Sandbox, name, spec);
}

pub(crate) fn edit(world: &mut World) {
    let name = world.chance.pick(&SANDBOXES);
    let change: Value = match world.chance.below(4) {
        0 => json!({"service": true}),
        1 => json!({"service": false}),
        2 => json!({"volumeClaimRetentionPolicy": {"whenDeleted": kept(world)}}),
        _ => json!({"operatingMode": world.chance.pick(&["Running", "Suspended"])}),
    };
    users::edit(world, Kind::Sandbox, name, &json!({"spec": change}));
}

/// What becomes of volumes.
fn kept(world: &mut World) -> &'static str {
    world.chance.pick(&["Retain", "Delete"])
}
