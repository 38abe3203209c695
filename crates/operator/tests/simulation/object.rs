//! How objects are looked at here: as JSON, independent of how the operator reads them.

use asb_core::write::Kind;
use serde_json::Value;

pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

pub(crate) fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

pub(crate) fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or_default()
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

pub(crate) fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["ownerReferences"].as_array().into_iter().flatten()
}

/// The UID of the controller, if that is of this kind.
pub(crate) fn controller_of(object: &Value, kind: Kind) -> Option<&str> {
    owners(object)
        .find(|owner| owner["controller"] == true && owner["kind"] == kind.name())
        .and_then(|owner| owner["uid"].as_str())
}

/// The name of the controller, if that is of this kind.
pub(crate) fn controller_name(object: &Value, kind: Kind) -> Option<&str> {
    owners(object)
        .find(|owner| owner["controller"] == true && owner["kind"] == kind.name())
        .and_then(|owner| owner["name"].as_str())
}

pub(crate) fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == type_)
}

/// Whether the condition Ready is True, and its reason.
pub(crate) fn ready(object: &Value) -> (bool, &str) {
    let ready = condition(object, "Ready");
    let text = |field: &str| ready.and_then(|ready| ready[field].as_str()).unwrap_or_default();
    (text("status") == "True", text("reason"))
}

/// As text. Unlike formatting it, this is compiled here, and optimised.
pub(crate) fn text(value: &Value) -> String {
    serde_json::to_string(value).expect("JSON has a text")
}

/// Lays a merge patch (RFC 7386) over a value.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    for (field, value) in fields {
        match value {
            Value::Null => drop(target.as_object_mut().expect("made one above").remove(field)),
            value => merge(&mut target[field], value),
        }
    }
}
