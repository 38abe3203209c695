//! An object under conversion: JSON with the few ways of looking into it and changing it that conversion needs.

use serde_json::{Map, Value};

use super::ConversionError;

pub(super) struct Object(Value);

impl Object {
    pub(super) fn new(value: Value) -> Result<Self, ConversionError> {
        for (field, name) in [("/apiVersion", "an apiVersion"), ("/kind", "a kind")] {
            if !value.pointer(field).is_some_and(Value::is_string) {
                return Err(ConversionError::Missing(name));
            }
        }
        if !value.get("spec").is_some_and(Value::is_object) {
            return Err(ConversionError::Missing("a spec"));
        }
        let malformed =
            |pointer: &&str| value.pointer(pointer).is_some_and(|at| !at.is_object() && !at.is_null());
        if let Some(pointer) = ["/metadata", "/metadata/annotations"].into_iter().find(malformed) {
            return Err(ConversionError::Malformed(pointer));
        }
        Ok(Self(value))
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

    pub(super) fn set_annotation(&mut self, key: &str, value: String) {
        self.0["metadata"]["annotations"][key] = value.into();
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

    /// Takes the partial object saved in an annotation.
    pub(super) fn take_state(&mut self, key: &'static str) -> Result<Option<State>, ConversionError> {
        let Some(text) = self.take_annotation(key) else { return Ok(None) };
        let parsed: Map<String, Value> =
            serde_json::from_str(&text).map_err(|source| ConversionError::State { key, source })?;
        Ok(Some(State(Value::Object(parsed))))
    }

    /// Saves a partial object in an annotation, if it says anything.
    pub(super) fn set_state(&mut self, key: &'static str, state: &State) {
        if !state.is_empty() {
            self.set_annotation(key, state.0.to_string());
        }
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        object.0
    }
}

/// A partial object as it travels in an annotation.
#[derive(Default)]
pub(super) struct State(Value);

impl State {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_null()
    }

    pub(super) fn get(&self, pointer: &str) -> Option<&Value> {
        self.0.pointer(pointer).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, pointer: &str) -> Option<&str> {
        self.get(pointer)?.as_str()
    }

    /// Puts a value at a JSON pointer, with everything above it.
    pub(super) fn set(&mut self, pointer: &str, value: Value) {
        let slot = pointer.split('/').skip(1).fold(&mut self.0, |at, field| &mut at[field]);
        *slot = value;
    }

    /// Moves fields out of an object that the other version has no place for.
    pub(super) fn carry(&mut self, object: &mut Object, pointers: &[&str]) {
        for pointer in pointers {
            if let Some(value) = object.take(pointer) {
                self.set(pointer, value);
            }
        }
    }

    /// Moves them back. A field whose holder has gone meanwhile, such as a status that was reset, goes with it.
    pub(super) fn restore(&self, object: &mut Object, pointers: &[&str]) {
        for pointer in pointers {
            if let Some(value) = self.get(pointer) {
                object.set(pointer, value.clone());
            }
        }
    }
}

fn split(pointer: &str) -> (&str, &str) {
    pointer.rsplit_once('/').unwrap_or(("", pointer))
}
