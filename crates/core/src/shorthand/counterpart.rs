//! Makes the object that a short spelling stands for, and keeps it as that says.

use asb_types::annotations::{
    CLIENT_FIRST_REQUESTED_AT, PROPAGATED_ANNOTATIONS, PROPAGATED_LABELS, TRACE_CONTEXT,
    WEBHOOK_FIRST_OBSERVED_AT, is_system_annotation,
};
use asb_types::labels::{CREATED_BY, is_system_label};
use serde_json::{Value, json};

use super::{Counterpart, Observed};
use crate::document::Document;
use crate::object::Metadata;
use crate::patch;
use crate::propagated::{self, Texts, changed_notes, changes, listed, removals};
use crate::write::{Kind, Target, Write};

/// kubectl's own memory, which is of the short spelling alone.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Annotations of the system that clients write.
const OF_CLIENTS: [&str; 3] = [CLIENT_FIRST_REQUESTED_AT, WEBHOOK_FIRST_OBSERVED_AT, TRACE_CONTEXT];

/// The write that it needs, if any. It is there and ours, or not there.
pub(super) fn write(
    observed: &Observed<'_>,
    kind: Kind,
    spec: &Value,
    present: Option<&Counterpart<'_>>,
) -> Option<Write> {
    match present {
        None => Some(create(observed, kind, spec)),
        Some(present) => correct(observed.metadata, kind, spec, present),
    }
}

fn create(observed: &Observed<'_>, kind: Kind, spec: &Value) -> Write {
    let (short, key) = (observed.metadata, observed.metadata.key.clone());
    let (labels, annotations) = (labels(short), annotations(short));
    let notes = propagated::notes(&labels, &annotations);
    let object = json!({
        "apiVersion": kind.api_version(),
        "kind": kind.name(),
        "metadata": {
            "namespace": *key.namespace,
            "name": *key.name,
            "labels": labels,
            "annotations": propagated::annotated(annotations, notes),
            "ownerReferences": [short.controller_reference(observed.kind)],
        },
        "spec": spec,
    });
    Write::Create { target: Target::new(kind, key), object }
}

/// What others put into its metadata stays; what they change in its spec is put back.
fn correct(short: &Metadata, kind: Kind, spec: &Value, present: &Counterpart<'_>) -> Option<Write> {
    let stored = present.spec.map_or_else(|| json!({}), Document::value);
    let mut body = json!({});
    if let Some(change) = patch::difference(&stored, spec) {
        body["spec"] = change;
    }
    if let Some(change) = metadata(short, present.metadata) {
        body["metadata"] = change;
    }
    (body != json!({})).then(|| Write::patch(kind, present.metadata, body))
}

fn metadata(short: &Metadata, present: &Metadata) -> Option<Value> {
    let (own_labels, own_annotations) = (labels(short), annotations(short));
    let mut labels = changes(&own_labels, &present.labels);
    labels.extend(removals(listed(present, PROPAGATED_LABELS), &own_labels, &present.labels));
    let mut annotations = changes(&own_annotations, &present.annotations);
    let noted = listed(present, PROPAGATED_ANNOTATIONS);
    annotations.extend(removals(noted, &own_annotations, &present.annotations));
    annotations.extend(changed_notes(&propagated::notes(&own_labels, &own_annotations), present));
    propagated::patch(labels, annotations)
}

fn labels(short: &Metadata) -> Texts {
    chosen(&short.labels, |key| !is_system_label(key) || key == CREATED_BY)
}

fn annotations(short: &Metadata) -> Texts {
    chosen(&short.annotations, |key| {
        key != LAST_APPLIED && (!is_system_annotation(key) || OF_CLIENTS.contains(&key))
    })
}

fn chosen(texts: &Texts, is_passed_on: impl Fn(&str) -> bool) -> Texts {
    let chosen = texts.iter().filter(|(key, _)| is_passed_on(key));
    chosen.map(|(key, value)| (key.clone(), value.clone())).collect()
}
