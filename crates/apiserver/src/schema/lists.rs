//! Lists that are sets or maps hold nothing twice.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::path::Path;
use super::{ListType, Schema, Shape};
use crate::field;

pub(super) fn duplicates(schema: &Schema, value: &Value) -> Vec<field::Error> {
    let mut errors = Vec::new();
    visit(schema, value, &Path::ROOT, &mut errors);
    errors
}

fn visit(schema: &Schema, value: &Value, path: &Path<'_>, errors: &mut Vec<field::Error>) {
    match value {
        Value::Array(values) => {
            in_list(schema, values, path, errors);
            if let Some(items) = schema.items() {
                for (index, value) in values.iter().enumerate() {
                    visit(items, value, &path.index(index), errors);
                }
            }
        }
        Value::Object(values) => {
            let Shape::Object(fields) = &schema.shape else { return };
            for (name, value) in values {
                if let Some(others) = &fields.others {
                    visit(others, value, &path.key(name), errors);
                }
                if let Some(field) = fields.known.get(name) {
                    visit(field, value, &path.field(name), errors);
                }
            }
        }
        _ => {}
    }
}

fn in_list(schema: &Schema, values: &[Value], path: &Path<'_>, errors: &mut Vec<field::Error>) {
    match &schema.list {
        ListType::Atomic => {}
        ListType::Set => {
            for index in second_appearances(values.iter()) {
                errors.push(field::Error::duplicate(path.index(index).name(), values[index].clone()));
            }
        }
        ListType::Map(keys) => in_map(keys, values, path, errors),
    }
}

fn in_map(keys: &[String], values: &[Value], path: &Path<'_>, errors: &mut Vec<field::Error>) {
    let stray = values.iter().position(|value| !value.is_object() && !value.is_null());
    if let Some(index) = stray {
        let detail = "must be an object for an array of list-type map";
        errors.push(field::Error::invalid(path.index(index).name(), values[index].clone(), detail));
        return;
    }
    let found: Vec<Value> = values.iter().map(|value| key_of(value, keys)).collect();
    for index in second_appearances(found.iter()) {
        errors.push(field::Error::duplicate(path.index(index).name(), found[index].clone()));
    }
}

/// Fields that are absent are no part of a key: two items without any are the same.
fn key_of(item: &Value, keys: &[String]) -> Value {
    let fields = keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
    fields.collect::<Map<_, _>>().into()
}

/// A value that comes up a third time has been complained about already.
fn second_appearances<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<usize> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut second = Vec::new();
    for (index, value) in values.enumerate() {
        let times = seen.entry(value.to_string()).or_default();
        *times += 1;
        if *times == 2 {
            second.push(index);
        }
    }
    second
}
