//! What selects nodes: for a pod to run on, or for a volume to be reached from.

use super::at::At;
use super::labels::{self, Values};
use crate::names;

pub(super) fn selector(selector: &At, values: Values) {
    let terms = selector.field("nodeSelectorTerms");
    if terms.is_empty() {
        terms.required("must have at least one node selector term");
    }
    terms.items().for_each(|it| term(&it, values));
}

pub(super) fn term(term: &At, values: Values) {
    term.field("matchExpressions").items().for_each(|it| requirement(&it, values));
    term.field("matchFields").items().for_each(|it| field_requirement(&it));
}

fn requirement(requirement: &At, values: Values) {
    let listed = requirement.field("values");
    match requirement.text_of("operator") {
        "In" | "NotIn" => {
            if listed.is_empty() {
                listed.required("must be specified when `operator` is 'In' or 'NotIn'");
            }
        }
        "Exists" | "DoesNotExist" => {
            if !listed.is_empty() {
                listed.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
            }
        }
        "Gt" | "Lt" => {
            if listed.len() != 1 {
                listed.required("must be specified single value when `operator` is 'Lt' or 'Gt'");
            }
        }
        other => requirement.field("operator").invalid(other, "not a valid selector operator"),
    }
    requirement.field("key").must(names::qualified_name);
    labels::values_of_labels(&listed, values);
}

/// Nodes are selected by one field only: their name.
fn field_requirement(requirement: &At) {
    let listed = requirement.field("values");
    match requirement.text_of("operator") {
        "In" | "NotIn" if listed.len() == 1 => {}
        "In" | "NotIn" => listed
            .required("must be only one value when `operator` is 'In' or 'NotIn' for node field selector"),
        other => requirement.field("operator").invalid(other, "not a valid selector operator"),
    }
    match requirement.text_of("key") {
        "metadata.name" => listed.items().for_each(|value| value.must(names::dns_subdomain)),
        other => requirement.field("key").invalid(other, "not a valid field selector key"),
    }
}
