//! Label keys in affinities and spreading constraints: the Pod's own values of them become part of the selectors.

use serde_json::{Map, Value, json};

use crate::pointer;

pub(super) fn apply(pod: &mut Value) {
    let Some(labels) = pod["metadata"]["labels"].as_object().cloned() else { return };
    for affinity in ["podAffinity", "podAntiAffinity"] {
        let required = format!("/spec/affinity/{affinity}/requiredDuringSchedulingIgnoredDuringExecution");
        for term in pointer::list_mut(pod, &required) {
            select(term, &labels);
        }
        let preferred = format!("/spec/affinity/{affinity}/preferredDuringSchedulingIgnoredDuringExecution");
        for preference in pointer::list_mut(pod, &preferred) {
            preference.get_mut("podAffinityTerm").into_iter().for_each(|term| select(term, &labels));
        }
    }
    let constraints = pointer::list_mut(pod, "/spec/topologySpreadConstraints").iter_mut();
    constraints.for_each(|constraint| select(constraint, &labels));
}

/// A term without selector selects nothing, and stays so.
fn select(term: &mut Value, labels: &Map<String, Value>) {
    let requirements: Vec<Value> = [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")]
        .into_iter()
        .flat_map(|(keys, operator)| requirements(&term[keys], operator, labels))
        .collect();
    if term["labelSelector"].is_object() {
        for requirement in requirements {
            pointer::push(term, "/labelSelector/matchExpressions", requirement);
        }
    }
}

fn requirements(keys: &Value, operator: &str, labels: &Map<String, Value>) -> Vec<Value> {
    let keys = keys.as_array().into_iter().flatten().filter_map(Value::as_str);
    let present = keys.filter_map(|key| Some((key, labels.get(key)?)));
    present.map(|(key, value)| json!({"key": key, "operator": operator, "values": [value]})).collect()
}
