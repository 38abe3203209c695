//! An object under conversion: JSON with the few ways of looking into it and changing it that conversion needs.
//!
//! It may be incomplete. When fields change hands between versions in a server-side apply, the API server has objects
//! converted from which all fields of one owner were taken away, up to and including the spec.

use serde_json::Value;

use super::ConversionError;

/// The API server refuses objects whose annotations exceed this, keys and values together.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// What has to be an object where it is present at all.
const OBJECTS: [&str; 4] = ["/metadata", "/metadata/annotations", "/spec", "/status"];

pub(super) struct Object(Value);

impl Object {
    pub(super) fn new(value: Value) -> Result<Self, ConversionError> {
        for (field, name) in [("/apiVersion", "an apiVersion"), ("/kind", "a kind")] {
            if !value.pointer(field).is_some_and(Value::is_string) {
                return Err(ConversionError::Missing(name));
            }
        }
        let malformed =
            |pointer: &&str| value.pointer(pointer).is_some_and(|at| !at.is_object() && !at.is_null());
        match OBJECTS.into_iter().find(malformed) {
            Some(pointer) => Err(ConversionError::Malformed(pointer)),
            None => Ok(Self(value)),
        }
    }

    pub(super) fn api_version(&self) -> &str {
        self.text("/apiVersion").unwrap_or_default()
    }

    pub(super) fn kind(&self) -> &str {
        self.text("/kind").unwrap_or_default()
    }

    pub(super) fn set_api_version(&mut self, api_version: String) {
        self.0["apiVersion"] = api_version.into();
    }

    /// The value at a JSON pointer; null counts as absent, as it does to the API server.
    pub(super) fn get(&self, pointer: &str) -> Option<&Value> {
        self.0.pointer(pointer).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, pointer: &str) -> Option<&str> {
        self.get(pointer)?.as_str()
    }

    /// Puts a value at a JSON pointer, if what should hold it is there.
    pub(super) fn set(&mut self, pointer: &str, value: Value) {
        let (parent, field) = split(pointer);
        if let Some(Value::Object(fields)) = self.0.pointer_mut(parent) {
            fields.insert(field.to_owned(), value);
        }
    }

    /// Removes the value at a JSON pointer and returns it.
    pub(super) fn take(&mut self, pointer: &str) -> Option<Value> {
        let (parent, field) = split(pointer);
        let removed = self.0.pointer_mut(parent)?.as_object_mut()?.remove(field);
        removed.filter(|value| !value.is_null())
    }

    /// Removes an annotation and returns it. A map that held nothing else goes with it.
    pub(super) fn take_annotation(&mut self, key: &str) -> Option<String> {
        let annotations = self.0.pointer_mut("/metadata/annotations")?.as_object_mut()?;
        let value = annotations.remove(key);
        if value.is_some() && annotations.is_empty() {
            self.take("/metadata/annotations");
        }
        Some(value?.as_str()?.to_owned())
    }

    /// Adds an annotation, if the API server would still take the object.
    pub(super) fn set_annotation(&mut self, key: &str, value: String) -> Result<(), NoRoom> {
        let present = self.get("/metadata/annotations").and_then(Value::as_object).into_iter().flatten();
        let size = |(key, value): (&String, &Value)| key.len() + value.as_str().map_or(0, str::len);
        if present.map(size).sum::<usize>() + key.len() + value.len() > ANNOTATIONS_LIMIT {
            return Err(NoRoom);
        }
        self.0["metadata"]["annotations"][key] = value.into();
        Ok(())
    }
}

/// The annotations are full.
pub(super) struct NoRoom;

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        object.0
    }
}

fn split(pointer: &str) -> (&str, &str) {
    pointer.rsplit_once('/').unwrap_or(("", pointer))
}
