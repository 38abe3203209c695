//! Which old value a new one came from. Kubernetes tolerates what was wrong before and is unchanged, and lets rules
//! compare the two; both need to know what belongs together. Items of a list do where the list is keyed.

use std::collections::HashMap;

use serde_json::Value;

use super::{ListType, Schema};

/// A value, the one it came from, and what both should look like.
#[derive(Clone, Copy)]
pub(super) struct Correlated<'a> {
    pub schema: &'a Schema,
    pub new: &'a Value,
    pub old: &'a Value,
}

/// The items of an old list by their keys.
pub(super) struct KeyedItems<'a> {
    keys: &'a [String],
    items: HashMap<String, &'a Value>,
}

impl<'a> Correlated<'a> {
    pub(super) fn field(&self, name: &str) -> Option<Self> {
        let (new, old) = (self.new.as_object()?.get(name)?, self.old.as_object()?.get(name)?);
        Some(Self { schema: self.schema.field(name)?, new, old })
    }

    /// The old items of a keyed list; looked up once for all the new ones.
    pub(super) fn items(&self) -> Option<KeyedItems<'a>> {
        KeyedItems::new(self.schema, self.old)
    }

    pub(super) fn item(&self, items: &KeyedItems<'a>, new: &'a Value) -> Option<Self> {
        Some(Self { schema: self.schema.items()?, new, old: items.get(new)? })
    }

    /// Keyed lists are unchanged in any order; fields that the schema does not know count as changed.
    pub(super) fn is_unchanged(&self) -> bool {
        match (self.new, self.old) {
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len()
                    && new.keys().all(|name| self.field(name).is_some_and(|child| child.is_unchanged()))
            }
            (Value::Array(new), Value::Array(old)) => new.len() == old.len() && self.has_unchanged_items(new),
            (new, old) => new == old,
        }
    }

    fn has_unchanged_items(&self, new: &'a [Value]) -> bool {
        match self.items() {
            None => self.new == self.old,
            Some(old) => {
                new.iter().all(|item| self.item(&old, item).is_some_and(|child| child.is_unchanged()))
            }
        }
    }
}

impl<'a> KeyedItems<'a> {
    pub(super) fn new(schema: &'a Schema, old: &'a Value) -> Option<Self> {
        let ListType::Map(keys) = &schema.list else { return None };
        let mut items = HashMap::new();
        for item in old.as_array()? {
            if let Some(key) = key_of(item, keys) {
                items.entry(key).or_insert(item);
            }
        }
        Some(Self { keys, items })
    }

    pub(super) fn get(&self, new: &Value) -> Option<&'a Value> {
        self.items.get(&key_of(new, self.keys)?).copied()
    }
}

/// None where a field of the key is absent or no plain value.
fn key_of(item: &Value, keys: &[String]) -> Option<String> {
    let item = item.as_object()?;
    let mut text = String::new();
    for key in keys {
        match item.get(key)? {
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
            plain => text.push_str(&plain.to_string()),
        }
        text.push('\0');
    }
    Some(text)
}
