//! Taints of the node and the Pods that bear them.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PodSpec, Taint, Toleration};

pub const NO_SCHEDULE: &str = "NoSchedule";
pub const NO_EXECUTE: &str = "NoExecute";
/// The taint that `kubectl cordon` stands for.
pub const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Whether one of the tolerations bears a taint.
pub fn tolerates(spec: &PodSpec, taint: &Taint) -> bool {
    tolerations(spec, taint).next().is_some()
}

fn tolerations<'a>(spec: &'a PodSpec, taint: &'a Taint) -> impl Iterator<Item = &'a Toleration> {
    spec.tolerations.iter().flatten().filter(|toleration| matches(toleration, taint))
}

fn matches(toleration: &Toleration, taint: &Taint) -> bool {
    let says = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    says(&toleration.effect).is_none_or(|effect| effect == taint.effect)
        && says(&toleration.key).is_none_or(|key| key == taint.key)
        && bears(toleration, taint)
}

fn bears(toleration: &Toleration, taint: &Taint) -> bool {
    let (wanted, found) = (toleration.value.as_deref(), taint.value.as_deref());
    match toleration.operator.as_deref().unwrap_or_default() {
        "" | "Equal" => wanted.unwrap_or_default() == found.unwrap_or_default(),
        "Exists" => true,
        _ => false,
    }
}

/// When a Pod that runs must leave for a taint of effect NoExecute: now, at a time, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leave {
    Now,
    At(Timestamp),
    Never,
}

/// The earliest of what all taints ask for. `tainted` is when a taint that does not say was first seen.
pub fn leave(spec: &PodSpec, taints: &[Taint], tainted: Timestamp, now: Timestamp) -> Leave {
    let taints = taints.iter().filter(|taint| taint.effect == NO_EXECUTE);
    taints.map(|taint| leave_for(spec, taint, tainted, now)).min().unwrap_or(Leave::Never)
}

fn leave_for(spec: &PodSpec, taint: &Taint, tainted: Timestamp, now: Timestamp) -> Leave {
    let mut borne = tolerations(spec, taint).peekable();
    if borne.peek().is_none() {
        return Leave::Now;
    }
    let Some(seconds) = borne.filter_map(|toleration| toleration.toleration_seconds).min() else {
        return Leave::Never;
    };
    let since = taint.time_added.as_ref().map_or(tainted, |time| time.0);
    let until =
        since.saturating_add(Duration::from_secs(seconds.try_into().unwrap_or_default())).unwrap_or(now);
    if until <= now { Leave::Now } else { Leave::At(until) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn spec(tolerations: Value) -> PodSpec {
        serde_json::from_value(json!({"containers": [], "tolerations": tolerations})).unwrap()
    }

    fn taint(value: &str, effect: &str) -> Taint {
        serde_json::from_value(json!({"key": "k", "value": value, "effect": effect})).unwrap()
    }

    #[test]
    fn a_taint_is_borne_by_key_value_and_effect() {
        let bears = |toleration: Value| tolerates(&spec(json!([toleration])), &taint("5", NO_SCHEDULE));
        assert!(bears(json!({"operator": "Exists"})) && bears(json!({"key": "k", "value": "5"})));
        assert!(
            !bears(json!({"key": "k", "value": "6"})) && !bears(json!({"key": "x", "operator": "Exists"}))
        );
        assert!(!bears(json!({"operator": "Exists", "effect": "NoExecute"})));
        assert!(!bears(json!({"key": "k", "operator": "Gt", "value": "4"})), "behind a gate that is off");
    }

    #[test]
    fn a_pod_leaves_when_its_patience_ends() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let taints = [taint("v", NO_EXECUTE), taint("v", NO_SCHEDULE)];
        let leave = |tolerations: Value, now: i64| leave(&spec(tolerations), &taints, at(100), at(now));
        let patient = json!([{"operator": "Exists", "tolerationSeconds": 30}]);
        assert_eq!(leave(json!([]), 100), Leave::Now);
        assert_eq!(leave(json!([{"operator": "Exists"}]), 100), Leave::Never);
        assert_eq!(leave(patient.clone(), 129), Leave::At(at(130)));
        assert_eq!(leave(patient, 130), Leave::Now);
    }
}
