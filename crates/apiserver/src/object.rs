//! The metadata that every object has, read from and written to plain JSON. Values of a wrong type read as absent;
//! whether they are allowed is for validation to say.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

/// Short names for what most code asks of an object.
pub trait Object {
    fn meta(&self, field: &str) -> Option<&Value>;
    fn meta_mut(&mut self) -> &mut Map<String, Value>;

    fn meta_text(&self, field: &str) -> &str {
        self.meta(field).and_then(Value::as_str).unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.meta_text("name")
    }

    fn namespace(&self) -> Option<&str> {
        Some(self.meta_text("namespace")).filter(|namespace| !namespace.is_empty())
    }

    fn uid(&self) -> &str {
        self.meta_text("uid")
    }

    fn resource_version(&self) -> &str {
        self.meta_text("resourceVersion")
    }

    fn generation(&self) -> i64 {
        self.meta("generation").and_then(Value::as_i64).unwrap_or_default()
    }

    fn is_deleting(&self) -> bool {
        !self.meta_text("deletionTimestamp").is_empty()
    }

    fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.meta("finalizers").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    fn has_finalizer(&self, name: &str) -> bool {
        self.finalizers().any(|finalizer| finalizer == name)
    }

    fn owners(&self) -> &[Value] {
        self.meta("ownerReferences").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn label(&self, name: &str) -> Option<&str> {
        self.meta("labels")?.get(name)?.as_str()
    }

    /// Sets a field of the metadata; an empty list, an empty text or null removes it.
    fn set_meta(&mut self, field: &str, value: impl Into<Value>) {
        let value = value.into();
        let is_empty = match &value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::String(text) => text.is_empty(),
            _ => false,
        };
        if is_empty {
            self.meta_mut().remove(field);
        } else {
            self.meta_mut().insert(field.to_owned(), value);
        }
    }

    fn remove_finalizer(&mut self, name: &str) {
        let kept: Vec<Value> = self.finalizers().filter(|it| *it != name).map(Value::from).collect();
        self.set_meta("finalizers", kept);
    }

    fn set_finalizers<'a>(&mut self, finalizers: impl IntoIterator<Item = &'a str>) {
        let finalizers: Vec<Value> = finalizers.into_iter().map(Value::from).collect();
        self.set_meta("finalizers", finalizers);
    }
}

impl Object for Value {
    fn meta(&self, field: &str) -> Option<&Value> {
        self.get("metadata")?.get(field)
    }

    fn meta_mut(&mut self) -> &mut Map<String, Value> {
        child(self, "metadata")
    }
}

/// The object under a key, made where there is none or something else.
pub(crate) fn child<'a>(object: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let fields = object.as_object_mut().expect("made one above");
    let value = fields.entry(key).or_insert(Value::Null);
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("made one above")
}

/// A moment as Kubernetes writes it: whole seconds, in UTC.
pub fn time(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A moment that a field of an object names.
pub fn moment(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// Seconds later than a moment, or earlier; the last or first moment there is where that lies beyond it.
pub fn seconds_after(moment: Timestamp, seconds: i64) -> Timestamp {
    let beyond = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    moment.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(beyond)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_missing_or_of_a_wrong_type_reads_as_absent() {
        for object in [json!({}), json!({"metadata": 3}), json!({"metadata": {"name": 3, "finalizers": "x"}})]
        {
            assert_eq!((object.name(), object.namespace(), object.finalizers().count()), ("", None, 0));
        }
    }

    #[test]
    fn setting_nothing_removes_a_field() {
        let mut object = json!({"metadata": {"finalizers": ["a"]}});
        object.set_finalizers([]);
        assert_eq!(object, json!({"metadata": {}}));
    }

    #[test]
    fn times_are_whole_seconds() {
        let moment: Timestamp = "2026-01-02T03:04:05.678Z".parse().unwrap();
        assert_eq!(time(moment), "2026-01-02T03:04:05Z");
        assert_eq!(time(seconds_after(moment, 60)), "2026-01-02T03:05:05Z");
    }
}
