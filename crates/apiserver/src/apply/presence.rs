//! Objects of the kinds of Kubernetes itself as its own server holds them: a structure that is always there is there
//! though empty, and an optional list or map that is empty is not. Who owns a field depends on it, because an empty
//! structure that gains a field was not itself added. What is stored and served is not decided here.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::schema::{Fields, Schema, Shape};

/// Times that are null where they are not known, in every structure that has them. Others are left out.
const TIMES: [&str; 10] = [
    "deprecatedFirstTimestamp",
    "deprecatedLastTimestamp",
    "eventTime",
    "firstTimestamp",
    "finishedAt",
    "lastHeartbeatTime",
    "lastProbeTime",
    "lastTimestamp",
    "lastTransitionTime",
    "startedAt",
];

/// Lists that are there even when nothing is in them: empty, or null. Others are left out then.
const ALWAYS: [&str; 2] = ["endpoints", "rules"];

pub(super) fn settled(schema: &Schema, value: &Value) -> Value {
    match (&schema.shape, value) {
        (Shape::Object(fields), Value::Object(given)) => Value::Object(structure(schema, fields, given)),
        (Shape::Array(items), Value::Array(given)) => given.iter().map(|item| settled(items, item)).collect(),
        _ => value.clone(),
    }
}

/// The value without nulls in the place of fields, which mean as much as no field at all.
pub(super) fn without_nulls(schema: &Schema, value: Value) -> Value {
    match (&schema.shape, value) {
        (Shape::Object(fields), Value::Object(given)) => {
            let kept = given.into_iter().filter_map(|(name, value)| {
                let field = fields.known.get(&name).or(fields.others.as_ref());
                let is_void = value.is_null() && field.is_some_and(|field| !is_time(field));
                let value = match field {
                    Some(field) => without_nulls(field, value),
                    None => value,
                };
                (!is_void).then_some((name, value))
            });
            Value::Object(kept.collect())
        }
        (Shape::Array(items), Value::Array(given)) => {
            given.into_iter().map(|item| without_nulls(items, item)).collect()
        }
        (_, value) => value,
    }
}

fn structure(schema: &Schema, fields: &Fields, given: &Map<String, Value>) -> Map<String, Value> {
    let mut settled_fields = Map::new();
    for (name, value) in given {
        let field = fields.known.get(name).or(fields.others.as_ref());
        let is_known = fields.known.contains_key(name);
        if is_known
            && !is_required(schema, name)
            && field.is_some_and(|field| is_left_out(name, field, value))
        {
            continue;
        }
        let value = field.map_or_else(|| value.clone(), |field| settled(field, value));
        settled_fields.insert(name.clone(), value);
    }
    for (name, field) in &fields.known {
        if !settled_fields.contains_key(name)
            && let Some(value) = absent(schema, name, field)
        {
            settled_fields.insert(name.clone(), value);
        }
    }
    settled_fields
}

/// What stands for a field that was not given.
fn absent(schema: &Schema, name: &str, field: &Arc<Schema>) -> Option<Value> {
    match &field.default {
        None if is_time(field) && TIMES.contains(&name) => Some(Value::Null),
        Some(nothing) if is_nothing(nothing) => Some(settled(field, nothing)),
        default if is_required(schema, name) => Some(default.clone().unwrap_or_default()),
        _ => None,
    }
}

/// The default of a field that is always there, as opposed to one that is filled in.
fn is_nothing(default: &Value) -> bool {
    match default {
        Value::Null => false,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

fn is_required(schema: &Schema, name: &str) -> bool {
    schema.rules.as_ref().is_some_and(|rules| rules.required.iter().any(|required| required == name))
}

fn is_time(field: &Schema) -> bool {
    field.rules.as_ref().is_some_and(|rules| rules.format.as_deref() == Some("date-time"))
}

fn is_left_out(name: &str, field: &Schema, value: &Value) -> bool {
    match (&field.shape, value) {
        (Shape::Array(_), _) if ALWAYS.contains(&name) => false,
        (_, Value::Null) => !is_time(field),
        (Shape::Array(_), Value::Array(items)) => items.is_empty(),
        (Shape::Object(fields), Value::Object(entries)) => entries.is_empty() && fields.known.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::from_open_api;

    #[test]
    fn structures_are_there_and_empty_collections_are_not() {
        let schema = from_open_api(&json!({"type": "object", "required": ["list"], "properties": {
            "spec": {"type": "object", "default": {}, "required": ["name"], "properties": {
                "name": {"type": "string", "default": ""}, "labels": {"type": "object", "additionalProperties": {}},
            }},
            "list": {"type": "array", "items": {"type": "string"}},
            "pointer": {"type": "object", "properties": {"a": {"type": "string"}}},
        }}));
        assert_eq!(settled(&schema, &json!({})), json!({"spec": {"name": ""}, "list": null}));
        let given = json!({"spec": {"name": "x", "labels": {}}, "list": [], "pointer": {}});
        assert_eq!(settled(&schema, &given), json!({"spec": {"name": "x"}, "list": [], "pointer": {}}));
    }
}
