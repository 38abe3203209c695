//! Fills in what an object leaves out. A null where null is no value counts as left out.

use serde_json::{Map, Value};

use super::{Schema, Shape};

pub(super) fn default(schema: &Schema, value: &mut Value) {
    drop_nulls(schema, value);
    fill(schema, value);
}

/// Removes fields that are null, may not be, and have nothing to take the place of the null.
fn drop_nulls(schema: &Schema, value: &mut Value) {
    match (&schema.shape, value) {
        (Shape::Object(_), Value::Object(fields)) => {
            fields.retain(|name, value| match schema.field(name) {
                Some(field) if value.is_null() => field.nullable || has_default(field),
                Some(field) => {
                    drop_nulls(field, value);
                    true
                }
                None => true,
            });
        }
        (Shape::Array(items), Value::Array(values)) => {
            for value in values {
                drop_nulls(items, value);
            }
        }
        _ => {}
    }
}

fn fill(schema: &Schema, value: &mut Value) {
    match (&schema.shape, value) {
        (Shape::Object(fields), Value::Object(values)) => {
            for (name, field) in &fields.known {
                add_missing(field, name, values);
            }
            for (name, value) in values.iter_mut() {
                if let Some(field) = fields.known.get(name).or(fields.others.as_ref()) {
                    replace_null(field, value);
                    fill(field, value);
                }
            }
        }
        (Shape::Array(items), Value::Array(values)) => {
            for value in values {
                replace_null(items, value);
                fill(items, value);
            }
        }
        _ => {}
    }
}

fn add_missing(field: &Schema, name: &str, values: &mut Map<String, Value>) {
    if let Some(default) = &field.default
        && has_default(field)
        && !values.contains_key(name)
    {
        values.insert(name.to_owned(), default.clone());
    }
}

fn replace_null(schema: &Schema, value: &mut Value) {
    if value.is_null()
        && !schema.nullable
        && let Some(default) = &schema.default
    {
        *value = default.clone();
    }
}

/// A default of null is none.
fn has_default(schema: &Schema) -> bool {
    schema.default.as_ref().is_some_and(|default| !default.is_null())
}
