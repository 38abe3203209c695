//! The labels and annotations of a Sandbox's Pod: what users ask for in the podTemplate, and what the system needs.
//!
//! Which of them came from the podTemplate is noted on the Pod, so that a key that is no longer asked for can be taken
//! away without touching what others have put there.

use std::collections::BTreeMap;

use asb_types::annotations::{PROPAGATED_ANNOTATIONS, PROPAGATED_LABELS, is_system_annotation};
use asb_types::hash::fnv1a_hex;
use asb_types::labels::{
    CLAIM_UID, CREATED_BY, SANDBOX_NAME_HASH, TEMPLATE_REF_HASH, WARM_POOL, is_system_label,
    normalized_created_by,
};
use serde_json::{Map, Value, json};

use crate::object::Metadata;
use crate::views::SandboxView;
use crate::write::Kind;

type Texts = BTreeMap<String, String>;

/// System labels that a Pod has or has not, depending on the Sandbox. They follow it in both directions.
const FOLLOWING: [&str; 4] = [WARM_POOL, TEMPLATE_REF_HASH, CREATED_BY, CLAIM_UID];

pub(super) struct Desired {
    labels: Texts,
    annotations: Texts,
    /// The keys above that came from the podTemplate.
    notes: [(&'static str, String); 2],
}

impl Desired {
    pub(super) fn of(sandbox: &SandboxView) -> Self {
        let of_users = |texts: &Texts, is_system: fn(&str) -> bool| -> Texts {
            texts
                .iter()
                .filter(|(key, _)| !is_system(key))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect()
        };
        let mut labels = of_users(&sandbox.pod.labels, is_system_label);
        let annotations = of_users(&sandbox.pod.annotations, is_system_annotation);
        let notes = [(PROPAGATED_LABELS, keys(&labels)), (PROPAGATED_ANNOTATIONS, keys(&annotations))];
        labels.extend(system_labels(sandbox).map(|(key, value)| (key.to_owned(), value)));
        Self { labels, annotations, notes }
    }

    /// Labels and annotations, the notes among them where there is something to note.
    pub(super) fn for_a_new_pod(self) -> (Texts, Texts) {
        let mut annotations = self.annotations;
        let notes = self.notes.into_iter().filter(|(_, keys)| !keys.is_empty());
        annotations.extend(notes.map(|(key, keys)| (key.to_owned(), keys)));
        (self.labels, annotations)
    }

    /// The merge patch of `metadata` that an existing Pod needs, if any.
    pub(super) fn patch(&self, pod: &Metadata) -> Option<Value> {
        let mut labels = changes(&self.labels, &pod.labels);
        let noted = listed(pod, PROPAGATED_LABELS).chain(FOLLOWING);
        labels.extend(removals(noted, &self.labels, &pod.labels));

        let mut annotations = changes(&self.annotations, &pod.annotations);
        let noted = listed(pod, PROPAGATED_ANNOTATIONS).filter(|key| !self.is_note(key));
        annotations.extend(removals(noted, &self.annotations, &pod.annotations));
        annotations.extend(self.changed_notes(pod));

        let parts = [("labels", labels), ("annotations", annotations)].into_iter();
        let parts: Map<_, _> = parts
            .filter(|(_, changes)| !changes.is_empty())
            .map(|(part, changes)| (part.to_owned(), Value::Object(changes)))
            .collect();
        (!parts.is_empty()).then_some(Value::Object(parts))
    }

    fn is_note(&self, key: &str) -> bool {
        self.notes.iter().any(|(note, _)| *note == key)
    }

    /// An absent note is an empty one, and not worth a write by itself.
    fn changed_notes(&self, pod: &Metadata) -> impl Iterator<Item = (String, Value)> {
        let is_changed =
            |(key, keys): &&(&str, String)| pod.annotation(key).unwrap_or_default() != keys.as_str();
        self.notes.iter().filter(is_changed).map(|(key, keys)| ((*key).to_owned(), json!(keys)))
    }
}

/// The labels by which the Pod is found and selected. They come from the Sandbox itself and its owner, never from the
/// podTemplate, which is the user's to write.
fn system_labels(sandbox: &SandboxView) -> impl Iterator<Item = (&'static str, String)> {
    let metadata = &sandbox.metadata;
    let owner = metadata.owner.as_ref().filter(|owner| &*owner.group == asb_types::EXTENSIONS_GROUP);
    let pooled = owner.filter(|owner| owner.is(Kind::SandboxWarmPool));
    let claimed = owner.filter(|owner| owner.is(Kind::SandboxClaim));
    let copied = |key: &str| metadata.label(key).map(str::to_owned);
    let labels = [
        (SANDBOX_NAME_HASH, Some(fnv1a_hex(metadata.name()))),
        (TEMPLATE_REF_HASH, owner.and_then(|_| copied(TEMPLATE_REF_HASH))),
        (WARM_POOL, pooled.and_then(|_| copied(WARM_POOL))),
        (CLAIM_UID, claimed.map(|claim| claim.uid.to_string())),
        (CREATED_BY, metadata.label(CREATED_BY).map(|client| normalized_created_by(client).to_owned())),
    ];
    labels.into_iter().filter_map(|(key, value)| Some((key, value?)))
}

fn changes(desired: &Texts, present: &Texts) -> Map<String, Value> {
    let changed = desired.iter().filter(|(key, value)| present.get(*key) != Some(value));
    changed.map(|(key, value)| (key.clone(), json!(value))).collect()
}

fn removals<'a>(
    noted: impl Iterator<Item = &'a str>,
    desired: &Texts,
    present: &Texts,
) -> impl Iterator<Item = (String, Value)> {
    noted
        .filter(|key| !desired.contains_key(*key) && present.contains_key(*key))
        .map(|key| (key.to_owned(), Value::Null))
}

fn listed<'a>(pod: &'a Metadata, note: &str) -> impl Iterator<Item = &'a str> {
    pod.annotation(note).unwrap_or_default().split(',').filter(|key| !key.is_empty())
}

fn keys(texts: &Texts) -> String {
    texts.keys().map(String::as_str).collect::<Vec<_>>().join(",")
}
