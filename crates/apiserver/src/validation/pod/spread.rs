//! How pods are spread over nodes and zones, and keys of labels by which pods are told apart.

use std::collections::{BTreeMap, BTreeSet};

use super::super::at::At;
use super::super::labels::{self, Values};
use super::allowances::Allowances;
use crate::names;

const BOTH: &str = "exists in both matchLabelKeys and labelSelector";

pub(super) fn constraints(constraints: &At, allowances: &Allowances) {
    let mut last = BTreeMap::new();
    for (index, constraint) in constraints.items().enumerate() {
        last.insert((constraint.text_of("topologyKey"), constraint.text_of("whenUnsatisfiable")), index);
    }
    for (index, constraint) in constraints.items().enumerate() {
        constraint.field("maxSkew").must_be_positive();
        let (key, action) = (constraint.text_of("topologyKey"), constraint.field("whenUnsatisfiable"));
        if key.is_empty() {
            constraint.field("topologyKey").required("can not be empty");
        }
        action.must_be_one_of(&["DoNotSchedule", "ScheduleAnyway"]);
        if last.get(&(key, action.text())).is_some_and(|last| *last > index) {
            let place = constraint.field("{topologyKey, whenUnsatisfiable}");
            place.duplicate(format!("{{{key}, {}}}", action.text()));
        }
        least_domains(&constraint.field("minDomains"), action.text());
        constraint.field("nodeAffinityPolicy").may_be_one_of(&["Honor", "Ignore"]);
        constraint.field("nodeTaintsPolicy").may_be_one_of(&["Honor", "Ignore"]);
        if allowances.old_spread_keys {
            old_keys(&constraint.field("matchLabelKeys"), &constraint.field("labelSelector"));
        } else {
            keys_of(&constraint);
        }
        if !allowances.any_spread_selector {
            labels::selector(&constraint.field("labelSelector"), Values::AsLabels);
        }
    }
}

fn least_domains(domains: &At, action: &str) {
    if !domains.exists() {
        return;
    }
    domains.must_be_positive();
    if action != "DoNotSchedule" {
        let detail = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
        domains.invalid(domains.integer(), detail);
    }
}

/// The selectors of all constraints of a pod.
pub(super) fn selectors(spec: &At) {
    for constraint in spec.field("topologySpreadConstraints").items() {
        labels::selector(&constraint.field("labelSelector"), Values::AsLabels);
    }
}

/// The keys of all constraints of a pod.
pub(super) fn keys(spec: &At) {
    spec.field("topologySpreadConstraints").items().for_each(|constraint| keys_of(&constraint));
}

fn keys_of(constraint: &At) {
    let none = constraint.field("mismatchLabelKeys");
    let none = none.holding(&serde_json::Value::Null);
    label_keys(constraint, &constraint.field("matchLabelKeys"), &none);
}

/// Keys of labels that a pod has in common with the others, and keys in which it differs.
pub(super) fn label_keys(place: &At, matching: &At, differing: &At) {
    let selector = place.field("labelSelector");
    for keys in [matching, differing] {
        if !keys.is_empty() && !selector.exists() {
            keys.forbidden("must not be specified when labelSelector is not set");
        } else {
            keys.items().for_each(|key| key.must(names::qualified_name));
        }
    }
    // The selector holds each key once already, from when the pod was created.
    let mut selected: BTreeSet<&str> = selector.field("matchLabels").entries().map(|(key, _)| key).collect();
    let places: BTreeMap<&str, usize> = matching.texts().zip(0..).collect();
    for expression in selector.field("matchExpressions").items() {
        let key = expression.text_of("key");
        if let Some(index) = places.get(key)
            && !selected.insert(key)
        {
            place.index(*index).invalid(key, BOTH);
        }
        selected.insert(key);
    }
    let differing: BTreeSet<&str> = differing.texts().collect();
    for key in matching.items() {
        if differing.contains(key.text()) {
            key.invalid(key.text(), "exists in both matchLabelKeys and mismatchLabelKeys");
        }
    }
}

/// The rule that holds where the newer one was broken before.
fn old_keys(keys: &At, selector: &At) {
    if keys.is_empty() {
        return;
    }
    if !selector.exists() {
        keys.forbidden("must not be specified when labelSelector is not set");
    }
    let expressions = selector.field("matchExpressions");
    let mut selected: BTreeSet<&str> = selector.field("matchLabels").entries().map(|(key, _)| key).collect();
    selected.extend(expressions.items().map(|expression| expression.text_of("key")));
    for key in keys.items() {
        key.must(names::qualified_name);
        if selected.contains(key.text()) {
            key.invalid(key.text(), BOTH);
        }
    }
}
