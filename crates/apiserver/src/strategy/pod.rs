//! Pods: a status that only the node writes, and what follows from the spec.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{affinity, disabled, quality, time};
use crate::pointer::{list, list_mut, push, set, text};

const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

pub(super) fn prepare_create(pod: &mut Value, now: Timestamp) {
    let status = json!({"phase": "Pending", "qosClass": quality::class(pod)});
    set(pod, "/status", status);
    disabled::forget_in_pod(pod);
    if !list(pod, "/spec/schedulingGates").is_empty() {
        let message = "Scheduling is blocked due to non-empty scheduling gates";
        let gated = json!({"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": message});
        set_condition(pod, gated, now);
    }
    affinity::apply(pod);
    confine(pod);
}

pub(super) fn prepare_update(subresource: Option<&str>, new: &mut Value, old: &Value) {
    if subresource == Some("status") {
        keep_observed(new, old);
    }
    disabled::forget_in_pod(new);
}

/// Adds a condition, or replaces that of its type; the time is that of the last change.
pub fn set_condition(pod: &mut Value, mut condition: Value, now: Timestamp) {
    condition["lastProbeTime"] = Value::Null;
    condition["lastTransitionTime"] = time(now).into();
    let conditions = list_mut(pod, "/status/conditions");
    match conditions.iter_mut().find(|known| known["type"] == condition["type"]) {
        Some(known) => {
            if known["status"] == condition["status"] {
                condition["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            *known = condition;
        }
        None => push(pod, "/status/conditions", condition),
    }
}

/// AppArmor profiles were annotations once; where a container has no other, they still count.
fn confine(pod: &mut Value) {
    if pod["spec"]["os"]["name"] == "windows" {
        return;
    }
    let annotations = pod["metadata"]["annotations"].clone();
    let common = pod["spec"]["securityContext"]["appArmorProfile"].clone();
    for containers in ["/spec/initContainers", "/spec/containers", "/spec/ephemeralContainers"] {
        for container in list_mut(pod, containers) {
            let name = container["name"].as_str().unwrap_or_default();
            let profile = annotations[format!("{APP_ARMOR}{name}")].as_str().and_then(profile);
            let has_one = !container["securityContext"]["appArmorProfile"].is_null();
            if let Some(profile) = profile.filter(|profile| !has_one && *profile != common) {
                set(container, "/securityContext/appArmorProfile", profile);
            }
        }
    }
}

/// The profile that an annotation means, unless it is none that a field could hold.
fn profile(annotation: &str) -> Option<Value> {
    match annotation {
        "unconfined" => Some(json!({"type": "Unconfined"})),
        "runtime/default" => Some(json!({"type": "RuntimeDefault"})),
        local => {
            let name = local.strip_prefix("localhost/")?;
            let is_name = !name.is_empty() && name.len() <= 4095 && name.trim() == name;
            is_name.then(|| json!({"type": "Localhost", "localhostProfile": name}))
        }
    }
}

/// What an old node does not know to repeat is not lost: the class, and generations that were observed.
fn keep_observed(new: &mut Value, old: &Value) {
    fill(new, old, "/status/qosClass");
    fill(new, old, "/status/observedGeneration");
    // Nothing keeps a type from having several conditions; they pair up in order.
    let mut known: BTreeMap<&str, VecDeque<&Value>> = BTreeMap::new();
    for condition in list(old, "/status/conditions") {
        known.entry(text(condition, "/type")).or_default().push_back(condition);
    }
    for condition in list_mut(new, "/status/conditions") {
        let before = known.get_mut(text(condition, "/type")).and_then(VecDeque::pop_front);
        if let Some(before) = before {
            fill(condition, before, "/observedGeneration");
        }
    }
}

fn fill(new: &mut Value, old: &Value, at: &str) {
    let is_said = new.pointer(at).is_some_and(|value| !value.is_null() && *value != "" && *value != 0);
    if let (false, Some(value)) = (is_said, old.pointer(at)) {
        set(new, at, value.clone());
    }
}
