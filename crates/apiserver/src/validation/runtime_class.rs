//! RuntimeClasses: what runs the containers of a pod.

use std::collections::BTreeSet;

use serde_json::Value;

use super::at::{At, Report};
use super::metadata::{self, NameRule};
use super::{declared, labels, pod};
use crate::names;

pub(super) fn create(class: &At) {
    metadata::new(&class.field("metadata"), false, NameRule::Dns1123Subdomain);
    class.field("handler").must_be_given_and(names::dns_label);
    if let Some(overhead) = class.field("overhead").given() {
        pod::resources::fixed_overhead(&overhead);
    }
    let scheduling = class.field("scheduling");
    labels::labels(&scheduling.field("nodeSelector"));
    tolerations(&scheduling.field("tolerations"));
}

pub(super) fn update(new: &At, old: &Value) {
    create(new);
    metadata::changed(&new.field("metadata"), &old["metadata"]);
    let silent = Report::default();
    let before = new.other(old, &silent);
    metadata::immutable_text(&new.field("handler"), &before.field("handler"));
}

fn tolerations(tolerations: &At) {
    pod::tolerations(tolerations);
    let mut seen = BTreeSet::new();
    for toleration in tolerations.items() {
        let key = ["key", "operator", "value", "effect"].map(|name| toleration.text_of(name));
        if !seen.insert(key) {
            toleration.duplicate_shown(declared::shown("Toleration", toleration.value), "");
        }
    }
}
