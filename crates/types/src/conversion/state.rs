//! A partial object that travels in an annotation on the other version's view.
//!
//! Annotations are anybody's to write. What is taken out of one is checked as the API server would check the field,
//! because the API server does not look at an object again after conversion.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::ConversionError;
use super::object::{NoRoom, Object};

/// Where the fields that did not fit are named.
const OMITTED: &str = "omitted";

/// A field that only one version has.
pub(super) struct Carried {
    pub pointer: &'static str,
    pub check: fn(&Value) -> Result<(), serde_json::Error>,
}

/// Whether a value is one of this type.
pub(super) fn is<T: DeserializeOwned>(value: &Value) -> Result<(), serde_json::Error> {
    T::deserialize(value).map(drop)
}

#[derive(Default)]
pub(super) struct State(Value);

impl State {
    /// Takes the state that the writer of this object left in its annotation. One that does not hold up is refused.
    pub(super) fn taken_from(object: &mut Object, key: &'static str) -> Result<Self, ConversionError> {
        let Some(text) = object.take_annotation(key) else { return Ok(Self::default()) };
        let state = serde_json::from_str::<Map<String, Value>>(&text)
            .map_err(|source| ConversionError::State { key, source })?;
        match state.get(OMITTED).and_then(Value::as_str) {
            Some(field) => Err(ConversionError::Omitted { field: field.to_owned() }),
            None => Ok(Self(state.into())),
        }
    }

    /// Takes a state that only makes the view better. A spoilt one is passed over: otherwise a single object would
    /// fail every list of its kind.
    pub(super) fn advice_in(object: &mut Object, key: &str) -> Self {
        let text = object.take_annotation(key).unwrap_or_default();
        serde_json::from_str::<Map<String, Value>>(&text).map(|state| Self(state.into())).unwrap_or_default()
    }

    /// Leaves the state in an annotation, if it says anything.
    pub(super) fn leave_in(&self, object: &mut Object, key: &str) -> Result<(), NoRoom> {
        if self.0.is_null() { Ok(()) } else { object.set_annotation(key, self.0.to_string()) }
    }

    /// Leaves the state in a view. Without room for it, a field of the spec that is missing is named in its place, so
    /// that a write through the view is refused and nothing is lost.
    pub(super) fn leave_or_name_in(&self, object: &mut Object, key: &str) {
        if self.leave_in(object, key).is_ok() {
            return;
        }
        if let Some(field) = self.get("/spec").and_then(Value::as_object).and_then(|spec| spec.keys().next())
        {
            // Annotations that are full to the last byte leave no place even for this; reading matters more.
            let _ = object.set_annotation(key, json!({OMITTED: format!("spec.{field}")}).to_string());
        }
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
    pub(super) fn carry(&mut self, object: &mut Object, fields: &[Carried]) {
        for field in fields {
            if let Some(value) = object.take(field.pointer) {
                self.set(field.pointer, value);
            }
        }
    }

    /// Moves them back. A field whose holder has gone meanwhile, such as a status that was reset, goes with it.
    pub(super) fn restore(
        &self,
        object: &mut Object,
        fields: &[Carried],
        key: &'static str,
    ) -> Result<(), ConversionError> {
        for field in fields {
            if let Some(value) = self.get(field.pointer) {
                (field.check)(value).map_err(|source| ConversionError::State { key, source })?;
                object.set(field.pointer, value.clone());
            }
        }
        Ok(())
    }
}
