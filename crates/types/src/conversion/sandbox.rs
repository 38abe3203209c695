//! Sandbox: `replicas` 0 and 1 are `operatingMode` Suspended and Running.

use serde_json::{Value, json};

use super::object::Object;
use super::state::{Carried, State, is};
use super::{Conversion, ConversionError};
use crate::annotations::{v1alpha1_state, v1beta1_state};
use crate::hash::fnv1a_hex;
use crate::{GROUP, conditions};

pub(super) const CONVERSION: Conversion =
    Conversion { group: GROUP, kind: "Sandbox", to_v1beta1, to_v1alpha1 };

const ONLY_IN_V1BETA1: [Carried; 1] = [Carried { pointer: "/status/nodeName", check: is::<String> }];

fn to_v1beta1(object: &mut Object) -> Result<(), ConversionError> {
    object.take_annotation(v1alpha1_state::SANDBOX);
    let carried = State::taken_from(object, v1beta1_state::SANDBOX)?;
    let wanted = object.take("/spec/replicas");
    if let Some(replicas) = &wanted {
        object.set("/spec/operatingMode", if *replicas == 0 { "Suspended" } else { "Running" }.into());
    }
    if carried.text("/podHash") == Some(&pod_hash(object)) {
        carried.restore(object, &ONLY_IN_V1BETA1, v1beta1_state::SANDBOX)?;
    }
    let reported = object.take("/status/replicas").and_then(|replicas| replicas.as_i64()).unwrap_or(0);
    if reported != pods_in_evidence(object) {
        // Without room, the count is derived again from the status.
        let _ = unborne_count(object, reported, wanted).leave_in(object, v1alpha1_state::SANDBOX);
    }
    Ok(())
}

fn to_v1alpha1(object: &mut Object) {
    object.take_annotation(v1beta1_state::SANDBOX);
    let saved = State::advice_in(object, v1alpha1_state::SANDBOX);
    if let Some(mode) = object.take("/spec/operatingMode") {
        object.set("/spec/replicas", i32::from(mode != "Suspended").into());
    }
    let replicas = saved_count(&saved, object).unwrap_or_else(|| pods_in_evidence(object));
    let mut carried = State::default();
    carried.carry(object, &ONLY_IN_V1BETA1);
    if replicas != 0 {
        object.set("/status/replicas", replicas.into());
    }
    if carried.get("/status").is_some() {
        carried.set("/podHash", pod_hash(object).into());
    }
    carried.leave_or_name_in(object, v1beta1_state::SANDBOX);
}

/// Which Pod a v1alpha1 status speaks of. A node that was carried along belongs to that Pod and to no other.
fn pod_hash(object: &Object) -> String {
    let count = object.get("/status/replicas").and_then(Value::as_i64).unwrap_or(0);
    fnv1a_hex(&json!([count, object.get("/status/podIPs")]).to_string())
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
/// as that status does. `spec.replicas` is for other implementations, which look for it here.
fn unborne_count(object: &Object, reported: i64, wanted: Option<Value>) -> State {
    let mut state = State::default();
    if let Some(replicas) = wanted {
        state.set("/spec", json!({"replicas": replicas}));
    }
    state.set("/status", json!({"replicas": reported}));
    state.set("/statusHash", status_hash(object).into());
    state
}

/// Writers that know no `statusHash` froze the counter at their last write: theirs is not believed.
fn saved_count(saved: &State, object: &Object) -> Option<i64> {
    let is_current = saved.text("/statusHash")? == status_hash(object);
    let count = saved.get("/status/replicas").filter(|_| is_current)?.as_i64()?;
    (0..=i64::from(i32::MAX)).contains(&count).then_some(count)
}

fn status_hash(object: &Object) -> String {
    fnv1a_hex(&sorted(object.get("/status").unwrap_or(&Value::Null)).to_string())
}

/// The order of fields carries no meaning. serde_json keeps them sorted, unless some crate of the build asks it not to.
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
