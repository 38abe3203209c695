//! Fields of objects that were decoded, read without ceremony: what is absent, null or of another type reads as empty.
//! Where that could widen a permission, `authorization::rule` reads strictly instead.

use serde_json::Value;

/// The text at a path of fields, or nothing.
pub(super) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// The texts in the list at a path of fields.
pub(super) fn texts(object: &Value, path: &[&str]) -> Vec<String> {
    let items = at(object, path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// What is at a path of fields, unless it is null.
pub(super) fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    let found = path.iter().try_fold(object, |object, field| object.get(field));
    found.filter(|value| !value.is_null())
}
