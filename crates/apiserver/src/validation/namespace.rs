//! Namespaces, and what is asked of those that are going away.

use serde_json::Value;

use super::at::At;
use super::metadata::{self, NameRule};

pub(super) fn create(namespace: &At) {
    metadata::new_of_kubernetes(&namespace.field("metadata"), false, NameRule::Dns1123Label);
    let spec = namespace.field("spec");
    let finalizers = spec.field("finalizers");
    for finalizer in finalizers.texts() {
        metadata::name_of_finalizer(&finalizers, finalizer);
        metadata::known_finalizer(&finalizers, finalizer);
    }
}

pub(super) fn update(new: &At, old: &Value) {
    create(new);
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
}

pub(super) fn update_status(new: &At, old: &Value) {
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
    let status = new.field("status");
    let phase = status.field_shown_as("phase", "Phase");
    let deleted = new.field("metadata").has("deletionTimestamp");
    match phase.text() {
        "Active" if !deleted => {}
        "Terminating" if deleted => {}
        other if deleted => {
            phase.invalid(other, "may only be 'Terminating' if `deletionTimestamp` is not empty");
        }
        other => phase.invalid(other, "may only be 'Active' if `deletionTimestamp` is empty"),
    }
}

pub(super) fn finalize(new: &At, old: &Value) {
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
    let spec = new.field("spec");
    for finalizer in spec.field("finalizers").items() {
        metadata::name_of_finalizer(&finalizer, finalizer.text());
        metadata::known_finalizer(&finalizer, finalizer.text());
    }
}
