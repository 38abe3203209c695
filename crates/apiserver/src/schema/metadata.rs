//! The metadata that every object has, whatever a definition says of it.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{Schema, Shape, from_open_api};
use crate::field::Quoted;
use crate::go;

/// The fields that every object has.
pub(super) const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// `ObjectMeta`. The fields of `managedFields` are free: they mirror those of the object.
pub(super) static SCHEMA: LazyLock<Schema> = LazyLock::new(|| from_open_api(&object_meta()));

fn object_meta() -> Value {
    let text = json!({"type": "string"});
    let number = json!({"type": "integer"});
    let texts = json!({"type": "object", "additionalProperties": text});
    json!({"type": "object", "properties": {
        "name": text, "generateName": text, "namespace": text, "selfLink": text, "uid": text,
        "resourceVersion": text, "generation": number, "creationTimestamp": text, "deletionTimestamp": text,
        "deletionGracePeriodSeconds": number, "labels": texts, "annotations": texts,
        "ownerReferences": {"type": "array", "items": {"type": "object", "properties": {
            "apiVersion": text, "kind": text, "name": text, "uid": text,
            "controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"},
        }}},
        "finalizers": {"type": "array", "items": text},
        "managedFields": {"type": "array", "items": {"type": "object", "properties": {
            "manager": text, "operation": text, "apiVersion": text, "time": text, "fieldsType": text,
            "subresource": text,
            "fieldsV1": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }}},
    }})
}

/// Why metadata cannot be read at all, in the words of Go's decoder; nothing where it can.
pub(super) fn unreadable(metadata: &Value) -> Option<String> {
    match metadata {
        Value::Object(_) => mismatch(&SCHEMA, metadata, ""),
        Value::Null => None,
        other => {
            Some(format!("json: cannot unmarshal {} into Go value of type v1.ObjectMeta", go::kind_of(other)))
        }
    }
}

fn mismatch(schema: &Schema, value: &Value, name: &str) -> Option<String> {
    match (&schema.shape, value) {
        (Shape::String, Value::String(text)) if name.ends_with("Timestamp") => no_time(text),
        (_, Value::Null)
        | (Shape::Any, _)
        | (Shape::String, Value::String(_))
        | (Shape::Integer, Value::Number(_))
        | (Shape::Boolean, Value::Bool(_)) => None,
        (Shape::Object(_), Value::Object(fields)) => fields.iter().find_map(|(field, value)| {
            let inside = if name.is_empty() { field } else { name };
            mismatch(schema.field(field)?, value, inside)
        }),
        (Shape::Array(items), Value::Array(values)) => {
            values.iter().find_map(|value| mismatch(items, value, name))
        }
        (shape, other) => Some(format!(
            "json: cannot unmarshal {} into Go struct field ObjectMeta.{name} of type {}",
            go::kind_of(other),
            go_kind(shape)
        )),
    }
}

fn no_time(text: &str) -> Option<String> {
    let layout = "2006-01-02T15:04:05Z07:00";
    let wrong = text.parse::<jiff::Timestamp>().is_err();
    wrong.then(|| format!("parsing time {0} as \"{layout}\": cannot parse {0} as \"2006\"", Quoted(text)))
}

fn go_kind(shape: &Shape) -> &'static str {
    match shape {
        Shape::Object(_) => "map[string]string",
        Shape::Array(_) => "[]string",
        Shape::Integer => "int64",
        Shape::Boolean => "bool",
        _ => "string",
    }
}
