//! Fills in what an object leaves out. A null where null is no value counts as left out.

use serde_json::{Map, Value};
use thiserror::Error;

use super::{Schema, Shape};

/// What does not fit is left out, and told.
pub(super) fn default(schema: &Schema, value: &mut Value) -> Result<(), Overgrown> {
    drop_nulls(schema, value);
    let mut filling = Filling { room: Some(MOST_BYTES) };
    filling.fill(schema, value);
    filling.room.map(drop).ok_or(Overgrown)
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

/// An object with all its defaults would be too large to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the defaults of the schema make the object too large")]
pub struct Overgrown;

/// What the defaults of one object may take. A long list of empty items can ask for a large default as many times.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Fills for as long as there is room.
struct Filling {
    room: Option<usize>,
}

impl Filling {
    fn fill(&mut self, schema: &Schema, value: &mut Value) {
        match (&schema.shape, value) {
            (Shape::Object(fields), Value::Object(values)) => {
                for (name, field) in &fields.known {
                    self.add_missing(field, name, values);
                }
                for (name, value) in values.iter_mut() {
                    if let Some(field) = fields.known.get(name).or(fields.others.as_ref()) {
                        self.replace_null(field, value);
                        self.fill(field, value);
                    }
                }
            }
            (Shape::Array(items), Value::Array(values)) => {
                for value in values {
                    self.replace_null(items, value);
                    self.fill(items, value);
                }
            }
            _ => {}
        }
    }

    fn add_missing(&mut self, field: &Schema, name: &str, values: &mut Map<String, Value>) {
        if let Some(default) = &field.default
            && has_default(field)
            && !values.contains_key(name)
            && self.has_room(name.len() + size(default))
        {
            values.insert(name.to_owned(), without_nulls(field, default));
        }
    }

    fn replace_null(&mut self, schema: &Schema, value: &mut Value) {
        if value.is_null()
            && !schema.nullable
            && let Some(default) = &schema.default
            && self.has_room(size(default))
        {
            *value = without_nulls(schema, default);
        }
    }

    fn has_room(&mut self, size: usize) -> bool {
        self.room = self.room.and_then(|room| room.checked_sub(size));
        self.room.is_some()
    }
}

fn size(value: &Value) -> usize {
    const VALUE: usize = 32;
    VALUE
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(size).sum(),
            Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + size(value)).sum(),
            _ => 0,
        }
}

/// A default may itself hold a null where null is no value.
fn without_nulls(schema: &Schema, default: &Value) -> Value {
    let mut default = default.clone();
    drop_nulls(schema, &mut default);
    default
}

/// A default of null is none.
fn has_default(schema: &Schema) -> bool {
    schema.default.as_ref().is_some_and(|default| !default.is_null())
}
