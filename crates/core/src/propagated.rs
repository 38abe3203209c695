//! Labels and annotations that are copied from one object to another. Which keys were copied is noted on the copy, so that
//! one that is no longer there can be taken away without touching what others have put there.

use std::collections::BTreeMap;

use asb_types::annotations::{PROPAGATED_ANNOTATIONS, PROPAGATED_LABELS};
use serde_json::{Map, Value, json};

use crate::object::Metadata;

pub(crate) type Texts = BTreeMap<String, String>;

/// The notes about copies, by the annotation that holds each.
pub(crate) type Notes = [(&'static str, String); 2];

pub(crate) fn notes(labels: &Texts, annotations: &Texts) -> Notes {
    [(PROPAGATED_LABELS, keys(labels)), (PROPAGATED_ANNOTATIONS, keys(annotations))]
}

/// The annotations with the notes among them, where there is something to note.
pub(crate) fn annotated(mut annotations: Texts, notes: Notes) -> Texts {
    let notes = notes.into_iter().filter(|(_, keys)| !keys.is_empty());
    annotations.extend(notes.map(|(key, keys)| (key.to_owned(), keys)));
    annotations
}

/// What has to change in `present` for it to have everything in `desired`.
pub(crate) fn changes(desired: &Texts, present: &Texts) -> Map<String, Value> {
    let changed = desired.iter().filter(|(key, value)| present.get(*key) != Some(value));
    changed.map(|(key, value)| (key.clone(), json!(value))).collect()
}

/// What has to go from `present`: what was noted and is no longer desired.
pub(crate) fn removals<'a>(
    noted: impl Iterator<Item = &'a str>,
    desired: &Texts,
    present: &Texts,
) -> impl Iterator<Item = (String, Value)> {
    noted
        .filter(|key| !desired.contains_key(*key) && present.contains_key(*key))
        .map(|key| (key.to_owned(), Value::Null))
}

/// The keys that a note lists. No note is about itself.
pub(crate) fn listed<'a>(object: &'a Metadata, note: &str) -> impl Iterator<Item = &'a str> {
    let keys = object.annotation(note).unwrap_or_default().split(',');
    keys.filter(|key| !key.is_empty() && ![PROPAGATED_LABELS, PROPAGATED_ANNOTATIONS].contains(key))
}

/// The notes that are not as they should be. An absent note is an empty one, and not worth a write by itself.
pub(crate) fn changed_notes(notes: &Notes, object: &Metadata) -> impl Iterator<Item = (String, Value)> {
    let is_changed =
        |(key, keys): &&(&str, String)| object.annotation(key).unwrap_or_default() != keys.as_str();
    notes.iter().filter(is_changed).map(|(key, keys)| ((*key).to_owned(), json!(keys)))
}

/// The merge patch of `metadata` that makes these changes, if there are any.
pub(crate) fn patch(labels: Map<String, Value>, annotations: Map<String, Value>) -> Option<Value> {
    let parts = [("labels", labels), ("annotations", annotations)].into_iter();
    let parts: Map<_, _> = parts
        .filter(|(_, changes)| !changes.is_empty())
        .map(|(part, changes)| (part.to_owned(), Value::Object(changes)))
        .collect();
    (!parts.is_empty()).then_some(Value::Object(parts))
}

fn keys(texts: &Texts) -> String {
    texts.keys().map(String::as_str).collect::<Vec<_>>().join(",")
}
