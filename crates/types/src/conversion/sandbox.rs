//! Sandbox: `replicas` 0 and 1 are `operatingMode` Suspended and Running.

use serde_json::{Value, json};

use super::object::{Object, State};
use super::{Conversion, ConversionError};
use crate::annotations::{v1alpha1_state, v1beta1_state};
use crate::hash::fnv1a_hex;
use crate::{GROUP, conditions};

pub(super) const CONVERSION: Conversion =
    Conversion { group: GROUP, kind: "Sandbox", to_v1beta1, to_v1alpha1 };

const ONLY_IN_V1BETA1: [&str; 1] = ["/status/nodeName"];

fn to_v1beta1(object: &mut Object) -> Result<(), ConversionError> {
    object.take_annotation(v1alpha1_state::SANDBOX);
    let carried = object.take_state(v1beta1_state::SANDBOX)?.unwrap_or_default();
    let suspended = object.take("/spec/replicas").is_some_and(|replicas| replicas == 0);
    object.set("/spec/operatingMode", if suspended { "Suspended" } else { "Running" }.into());

    let reported = object.take("/status/replicas").and_then(|replicas| replicas.as_i64()).unwrap_or(0);
    carried.restore(object, &ONLY_IN_V1BETA1);
    if reported != pods_in_evidence(object) {
        object.set_state(v1alpha1_state::SANDBOX, &state_of_status(object, reported));
    }
    Ok(())
}

fn to_v1alpha1(object: &mut Object) -> Result<(), ConversionError> {
    object.take_annotation(v1beta1_state::SANDBOX);
    let saved = object.take_state(v1alpha1_state::SANDBOX)?.unwrap_or_default();
    let suspended = object.take("/spec/operatingMode").is_some_and(|mode| mode == "Suspended");
    object.set("/spec/replicas", i32::from(!suspended).into());

    let replicas = saved_replicas(&saved, object).unwrap_or_else(|| pods_in_evidence(object));
    let mut carried = State::default();
    carried.carry(object, &ONLY_IN_V1BETA1);
    if replicas != 0 {
        object.set("/status/replicas", replicas.into());
    }
    object.set_state(v1beta1_state::SANDBOX, &carried);
    Ok(())
}

/// How many Pods the rest of the status speaks of. v1beta1 has no counter: a Pod shows by its addresses, its node or
/// its PodScheduled condition.
fn pods_in_evidence(object: &Object) -> i64 {
    let addressed = object.get("/status/podIPs").and_then(Value::as_array).is_some_and(|ips| !ips.is_empty());
    let placed = object.text("/status/nodeName").is_some_and(|node| !node.is_empty());
    i64::from(addressed || placed || speaks_of_scheduling(object))
}

/// The condition of a Pod that could not be looked at is Unknown, and no evidence of one.
fn speaks_of_scheduling(object: &Object) -> bool {
    let listed = object.get("/status/conditions").and_then(Value::as_array);
    let mut known = listed.into_iter().flatten().filter(|condition| condition["status"] != "Unknown");
    known.any(|condition| condition["type"] == conditions::POD_SCHEDULED)
}

/// A counter that the rest of the status does not bear out, with the status it was reported in: it holds for as long
/// as that status does.
fn state_of_status(object: &Object, replicas: i64) -> State {
    let mut state = State::default();
    state.set("/status", json!({"replicas": replicas}));
    state.set("/statusHash", fingerprint(object).into());
    state
}

/// Writers that know no `statusHash` froze the counter at their last write: theirs is not believed.
fn saved_replicas(saved: &State, object: &Object) -> Option<i64> {
    let current = saved.text("/statusHash")? == fingerprint(object);
    saved.get("/status/replicas").filter(|_| current)?.as_i64()
}

fn fingerprint(object: &Object) -> String {
    fnv1a_hex(&sorted(object.get("/status").unwrap_or(&Value::Null)).to_string())
}

/// The order of fields carries no meaning, and a store may change it.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> =
                fields.iter().map(|(name, value)| (name.clone(), sorted(value))).collect();
            fields.sort_by(|left, right| left.0.cmp(&right.0));
            fields.into_iter().collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}
