//! People and programs that change what they should leave alone: the labels and owners of a pool's members.

use asb_core::write::Kind;
use asb_types::labels::{TEMPLATE_REF_HASH, WARM_POOL};
use serde_json::json;

use crate::object::{controller_of, name};
use crate::users;
use crate::world::World;

pub(crate) fn meddle(world: &mut World) {
    let members = world
        .store
        .list(Kind::Sandbox)
        .filter(|sandbox| controller_of(sandbox, Kind::SandboxWarmPool).is_some());
    let names: Vec<_> = members.map(|member| name(member).to_owned()).collect();
    let Some(member) = users::choose(world, &names) else { return };
    let change = match world.chance.below(4) {
        0 => json!({"labels": {WARM_POOL: null}}),
        1 => json!({"labels": {TEMPLATE_REF_HASH: null}}),
        _ => json!({"ownerReferences": null}),
    };
    users::edit(world, Kind::Sandbox, &member, &json!({"metadata": change}));
}
