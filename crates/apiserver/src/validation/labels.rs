//! Labels, and what selects objects by their labels.

use super::at::At;
use crate::names;

/// A map of labels; errors name the map, not the key.
pub(super) fn labels(labels: &At) {
    for (key, value) in labels.entries() {
        key_of_label(labels, key);
        labels.must_hold(value.text(), names::label_value);
    }
}

fn key_of_label(labels: &At, key: &str) {
    labels.must_hold(key, names::qualified_name);
}

/// What a selector must be, or may stay where it was so before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    AsLabels,
    Anything,
}

pub(super) fn selector(selector: &At, values: Values) {
    labels(&selector.field("matchLabels"));
    for expression in selector.field("matchExpressions").items() {
        let listed = expression.field("values");
        match expression.text_of("operator") {
            "In" | "NotIn" if listed.is_empty() => {
                listed.required("must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if !listed.is_empty() => {
                listed.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => expression.field("operator").invalid(other, "not a valid selector operator"),
        }
        expression.field("key").must(names::qualified_name);
        values_of_labels(&listed, values);
    }
}

/// A list of values that labels are compared with.
pub(super) fn values_of_labels(listed: &At, values: Values) {
    if values == Values::AsLabels {
        listed.items().for_each(|value| value.must(names::label_value));
    }
}
