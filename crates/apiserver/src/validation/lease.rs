//! Leases.

use serde_json::Value;

use super::at::At;
use super::metadata::{self, NameRule};
use crate::names;

pub(super) fn create(lease: &At) {
    metadata::new(&lease.field("metadata"), true, NameRule::Dns1123Subdomain);
    spec(&lease.field("spec"));
}

pub(super) fn update(new: &At, old: &Value) {
    metadata::changed(&new.field("metadata"), &old["metadata"]);
    spec(&new.field("spec"));
}

fn spec(spec: &At) {
    let (duration, transitions) = (spec.field("leaseDurationSeconds"), spec.field("leaseTransitions"));
    if duration.exists() && duration.integer() <= 0 {
        duration.invalid(duration.integer(), "must be greater than 0");
    }
    transitions.must_not_be_negative();
    let strategy = spec.field("strategy");
    if strategy.exists() {
        // The name stands in the path twice.
        let place = strategy.shown_under("strategy");
        if strategy.text().contains('/') {
            place.must(names::qualified_name);
        } else {
            place.must_be_one_of(&["OldestEmulationVersion"]);
        }
    }
    if !spec.text_of("preferredHolder").is_empty() && strategy.text().is_empty() {
        spec.field("preferredHolder").forbidden("may only be specified if `strategy` is defined");
    }
}
