//! StorageClasses.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::at::{At, Report};
use super::metadata::{self, NameRule};
use crate::names;

const MOST_PARAMETERS: usize = 512;
const MOST_OF_PARAMETERS: usize = 256 * 1024;

pub(super) fn create(class: &At) {
    metadata::new_of_kubernetes(&class.field("metadata"), false, NameRule::Dns1123Subdomain);
    let provisioner = class.field("provisioner");
    if provisioner.must_be_given() {
        let name = provisioner.text().to_lowercase();
        provisioner.must_hold(&name, names::qualified_name);
    }
    parameters(&class.field("parameters"));
    if !class.text_of("reclaimPolicy").is_empty() {
        class.field("reclaimPolicy").must_be_one_of(&["Delete", "Retain"]);
    }
    let mode = class.field("volumeBindingMode");
    if mode.exists() {
        mode.must_be_one_of(&["Immediate", "WaitForFirstConsumer"]);
    } else {
        mode.required("");
    }
    topologies(&class.field("allowedTopologies"));
}

pub(super) fn update(new: &At, old: &Value) {
    create(new);
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
    let silent = Report::default();
    let before = new.other(old, &silent);
    for name in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
        metadata::immutable(&new.field(name), &before.field(name));
    }
}

fn parameters(parameters: &At) {
    if parameters.len() > MOST_PARAMETERS {
        parameters.too_long(MOST_PARAMETERS);
    }
    let mut size = 0;
    for (key, value) in parameters.entries() {
        if key.is_empty() {
            parameters.invalid("", "field can not be empty.");
        }
        size += key.len() + value.text().len();
    }
    if size > MOST_OF_PARAMETERS {
        parameters.too_long(MOST_OF_PARAMETERS);
    }
}

fn topologies(topologies: &At) {
    let mut seen: BTreeSet<BTreeMap<&str, BTreeSet<&str>>> = BTreeSet::new();
    for topology in topologies.items() {
        let expressions = topology.field("matchLabelExpressions");
        let mut term = BTreeMap::new();
        for expression in expressions.items() {
            let values = expression.field("values");
            if values.is_empty() {
                values.required("");
            }
            let mut set = BTreeSet::new();
            for value in values.items() {
                if !set.insert(value.text()) {
                    value.duplicate(value.text());
                }
            }
            let key = expression.field("key");
            key.must(names::qualified_name);
            if term.insert(key.text(), set).is_some() {
                key.duplicate(key.text());
            }
        }
        if !seen.insert(term) {
            expressions.duplicate("");
        }
    }
}
