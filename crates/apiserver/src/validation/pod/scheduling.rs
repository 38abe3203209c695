//! What decides on the node that a pod runs on: affinities, tolerations and gates.

use std::collections::BTreeSet;

use super::super::at::At;
use super::super::labels::{self, Values};
use super::super::node_selector;
use super::allowances::Allowances;
use super::spread;
use crate::names;

pub(super) fn affinity(affinity: &At, allowances: &Allowances) {
    if let Some(nodes) = affinity.field("nodeAffinity").given() {
        if let Some(required) = nodes.field("requiredDuringSchedulingIgnoredDuringExecution").given() {
            node_selector::selector(&required, allowances.values_in_node_affinity);
        }
        for term in nodes.field("preferredDuringSchedulingIgnoredDuringExecution").items() {
            weight(&term.field("weight"));
            node_selector::term(&term.field("preference"), Values::Anything);
        }
    }
    for name in ["podAffinity", "podAntiAffinity"] {
        let pods = affinity.field(name);
        for term in pods.field("requiredDuringSchedulingIgnoredDuringExecution").items() {
            pod_term(&term, allowances.values_in_pod_affinity);
        }
        for term in pods.field("preferredDuringSchedulingIgnoredDuringExecution").items() {
            weight(&term.field("weight"));
            pod_term(&term.field("podAffinityTerm"), allowances.values_in_pod_affinity);
        }
    }
}

fn weight(weight: &At) {
    if !(1..=100).contains(&weight.integer()) {
        weight.invalid(weight.integer(), "must be in the range 1-100");
    }
}

fn pod_term(term: &At, values: Values) {
    labels::selector(&term.field("labelSelector"), values);
    labels::selector(&term.field("namespaceSelector"), values);
    for namespace in term.field("namespaces").items() {
        // Named as if there were only one.
        let place = term.field("namespace");
        place.must_hold(namespace.text(), names::dns_label);
    }
    spread::label_keys(term, &term.field("matchLabelKeys"), &term.field("mismatchLabelKeys"));
    let key = term.field("topologyKey");
    if key.text().is_empty() {
        key.required("can not be empty");
    }
    key.must(names::qualified_name);
}

pub(in super::super) fn tolerations(tolerations: &At) {
    for toleration in tolerations.items() {
        let (key, operator, effect) =
            (toleration.field("key"), toleration.field("operator"), toleration.field("effect"));
        key.may(names::qualified_name);
        if key.text().is_empty() && operator.text() != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            operator.invalid(operator.text(), detail);
        }
        if toleration.has("tolerationSeconds") && effect.text() != "NoExecute" {
            effect.invalid(effect.text(), "effect must be 'NoExecute' when `tolerationSeconds` is set");
        }
        tolerated_value(&operator, toleration.text_of("value"));
        if !effect.text().is_empty() {
            taint_effect(&effect);
        }
    }
}

fn tolerated_value(operator: &At, value: &str) {
    match operator.text() {
        "Equal" | "" => {
            let messages = names::label_value(value);
            if !messages.is_empty() {
                operator.invalid(value, messages.join(";"));
            }
        }
        "Exists" if !value.is_empty() => {
            operator.invalid(value, "value must be empty when `operator` is 'Exists'");
        }
        "Exists" => {}
        // Comparing operators are known but not enabled.
        "Lt" | "Gt" => operator.not_supported(operator.text(), &["Equal", "Exists", "Lt", "Gt"]),
        other => operator.not_supported(other, &["Equal", "Exists"]),
    }
}

pub(in super::super) fn taint_effect(effect: &At) {
    effect.must_be_one_of(&["NoSchedule", "PreferNoSchedule", "NoExecute"]);
}

/// What must happen before a pod may be scheduled.
pub(super) fn gates(gates: &At) {
    let mut seen = BTreeSet::new();
    for gate in gates.items() {
        let name = gate.text_of("name");
        gate.must_hold(name, names::qualified_name);
        if !seen.insert(name) {
            gate.duplicate(name);
        }
    }
}

pub(super) fn group(group: &At) {
    let name = group.field("podGroupName");
    if name.exists() {
        name.must(names::dns_subdomain);
    } else {
        name.invalid(serde_json::Value::Null, "must specify one of: `podGroupName`");
    }
}
