//! DefaultTolerationSeconds: a Pod stays five minutes on a node that is not ready or cannot be reached. And how
//! tolerations of a Pod and of its runtime class become one list.

use serde_json::{Value, json};

use crate::strategy::fields;

const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
const SECONDS: i64 = 300;

pub(super) fn add_defaults(pod: &mut Value) {
    let missing = TAINTS.map(|key| (key, !tolerates(pod, key)));
    for (key, _) in missing.into_iter().filter(|(_, missing)| *missing) {
        let toleration =
            json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS});
        fields::push(pod, "/spec/tolerations", toleration);
    }
}

fn tolerates(pod: &Value, taint: &str) -> bool {
    fields::list(pod, "/spec/tolerations").iter().any(|toleration| {
        let (key, effect) = (fields::text(toleration, "/key"), fields::text(toleration, "/effect"));
        (key.is_empty() || key == taint) && (effect.is_empty() || effect == "NoExecute")
    })
}

/// Both lists, without what another toleration in them covers.
pub(super) fn merged(first: &[Value], second: &[Value]) -> Vec<Value> {
    let all: Vec<&Value> = first.iter().chain(second).collect();
    let mut merged: Vec<&Value> = Vec::new();
    for (index, toleration) in all.iter().enumerate() {
        let is_covered_before = merged.iter().any(|other| covers(other, toleration));
        let later = &all[index + 1..];
        let is_covered = || later.iter().any(|other| other != toleration && covers(other, toleration));
        if !is_covered_before && !is_covered() {
            merged.push(toleration);
        }
    }
    merged.into_iter().cloned().collect()
}

/// Whether everything that one tolerates the other does, too.
fn covers(wide: &Value, narrow: &Value) -> bool {
    let text = fields::text;
    if wide == narrow {
        return true;
    }
    let is_for_all = text(wide, "/key").is_empty() && text(wide, "/operator") == "Exists";
    if text(wide, "/key") != text(narrow, "/key") && !is_for_all {
        return false;
    }
    let effect = text(wide, "/effect");
    if !effect.is_empty() && effect != text(narrow, "/effect") {
        return false;
    }
    let lasts = |toleration: &Value| toleration["tolerationSeconds"].as_i64();
    if let ("NoExecute", Some(most)) = (effect, lasts(wide))
        && lasts(narrow).is_none_or(|seconds| seconds > most)
    {
        return false;
    }
    match text(wide, "/operator") {
        "" | "Equal" => {
            text(narrow, "/operator") == "Equal" && text(narrow, "/value") == text(wide, "/value")
        }
        operator => operator == "Exists",
    }
}
