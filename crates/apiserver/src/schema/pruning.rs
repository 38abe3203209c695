//! Removes the fields that a schema does not know, and says which those were.

use serde_json::{Map, Value};

use super::metadata::{self, META_FIELDS};
use super::{Schema, Shape};

/// The paths of what was removed: first those of the metadata, then the others in order.
pub(super) fn prune(schema: &Schema, value: &mut Value) -> Vec<String> {
    let mut found = metadata_of_root(value);
    let mut pruning = Pruning { unknown: Vec::new(), path: String::new() };
    pruning.resource(schema, value);
    pruning.unknown.sort();
    found.append(&mut pruning.unknown);
    pruning.embedded(schema, value);
    pruning.unknown.sort();
    found.append(&mut pruning.unknown);
    found
}

/// Whether a value inside an object has fields that its schema does not know.
pub(super) fn has_unknown_fields(schema: &Schema, value: &Value) -> bool {
    let mut pruning = Pruning { unknown: Vec::new(), path: String::new() };
    pruning.value(schema, &mut value.clone());
    !pruning.unknown.is_empty()
}

fn metadata_of_root(value: &mut Value) -> Vec<String> {
    let mut pruning = Pruning { unknown: Vec::new(), path: "metadata".into() };
    if let Some(metadata) = value.get_mut("metadata") {
        pruning.value(&metadata::SCHEMA, metadata);
    }
    pruning.unknown
}

struct Pruning {
    unknown: Vec<String>,
    /// Of the value that is being looked at.
    path: String,
}

impl Pruning {
    fn resource(&mut self, schema: &Schema, value: &mut Value) {
        if let Value::Object(fields) = value {
            self.fields(schema, fields, true);
        }
    }

    fn value(&mut self, schema: &Schema, value: &mut Value) {
        match value {
            Value::Object(fields) => self.fields(schema, fields, schema.is_embedded_resource),
            Value::Array(items) if schema.preserves_unknown_fields => self.kept_items(schema, items),
            Value::Array(items) => self.items(schema, items),
            _ => {}
        }
    }

    fn fields(&mut self, schema: &Schema, fields: &mut Map<String, Value>, is_resource: bool) {
        let length = self.path.len();
        fields.retain(|name, value| {
            if is_resource && META_FIELDS.contains(&name.as_str()) {
                return true;
            }
            self.enter(name);
            let known = schema.field(name);
            let keeps = known.is_some() || schema.preserves_unknown_fields;
            match known {
                Some(field) => self.value(field, value),
                None if !keeps => self.unknown.push(self.path.clone()),
                None => {}
            }
            self.path.truncate(length);
            keeps
        });
    }

    fn items(&mut self, schema: &Schema, items: &mut [Value]) {
        let nothing = Schema::default();
        let item = schema.items().map_or(&nothing, |items| items);
        self.each(items, |pruning, value| pruning.value(item, value));
    }

    /// In a list that keeps what it does not know, an item is looked into only where its fields are known.
    fn kept_items(&mut self, schema: &Schema, items: &mut [Value]) {
        let Some(item) = schema.items() else { return };
        let item = Schema { preserves_unknown_fields: true, ..Schema::clone(item) };
        self.each(items, |pruning, value| pruning.value(&item, value));
    }

    fn each(&mut self, items: &mut [Value], mut prune: impl FnMut(&mut Self, &mut Value)) {
        let length = self.path.len();
        for (index, value) in items.iter_mut().enumerate() {
            if matches!(value, Value::Object(_) | Value::Array(_)) {
                self.path.extend(["[", &index.to_string(), "]"]);
                prune(self, value);
                self.path.truncate(length);
            }
        }
    }

    /// The metadata of embedded objects, which has a schema of its own.
    fn embedded(&mut self, schema: &Schema, value: &mut Value) {
        let length = self.path.len();
        match (&schema.shape, value) {
            (Shape::Array(items), Value::Array(values)) => {
                self.each(values, |pruning, value| pruning.embedded(items, value));
            }
            (_, Value::Object(values)) => {
                for (name, value) in values.iter_mut() {
                    self.enter(name);
                    if schema.is_embedded_resource && name == "metadata" {
                        self.value(&metadata::SCHEMA, value);
                    } else if let Some(field) = schema.field(name) {
                        self.embedded(field, value);
                    }
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, name: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
    }
}
