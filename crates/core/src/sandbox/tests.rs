//! What a Sandbox gets and what its status says, case by case.

mod collision;
mod expiry;
mod pod;
mod pod_metadata;
mod properties;
mod service;
mod setback;
mod status;
mod suspension;
mod termination;
mod turns;
mod volumes;

use serde_json::Value;

use super::fixtures::World;
use crate::conditions;
use crate::write::Write;

/// A condition as one line: `Ready=False/SandboxExpired: Sandbox has expired`.
fn said(world: &World, type_: &str) -> Option<String> {
    line(&world.status().reported.conditions, type_)
}

fn line(list: &[k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition], type_: &str) -> Option<String> {
    let condition = conditions::find(list, type_)?;
    Some(format!("{}/{}: {}", condition.status, condition.reason, condition.message))
}

fn ready(world: &World) -> String {
    said(world, "Ready").expect("always there")
}

/// The one write of a plan, for people: `Patch Pod demo {…}`.
fn summary(writes: &[Write]) -> Vec<String> {
    let line = |write: &Write| {
        let target = write.target();
        let name = format!("{} {}", target.kind.name(), target.key.name);
        match write {
            Write::Create { .. } => format!("create {name}"),
            Write::Patch { body, .. } => format!("patch {name} {body}"),
            Write::Delete { how, .. } => format!("delete {name} {how:?}"),
        }
    };
    writes.iter().map(line).collect()
}

fn created(writes: &[Write]) -> &Value {
    match writes {
        [Write::Create { object, .. }] => object,
        other => panic!("one create was expected, not {other:?}"),
    }
}
