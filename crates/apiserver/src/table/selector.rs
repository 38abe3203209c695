//! Labels and label selectors as text.

use serde_json::Value;

use super::reading::{fields, items, text};

const NONE: &str = "<none>";

/// `a=b,c=d` for the labels at a JSON pointer.
pub(super) fn labels(object: &Value, pointer: &str) -> String {
    or_none(equalities(object, pointer).map(|(_, text)| text).collect())
}

/// A label selector, with its requirements in the order of their keys.
pub(super) fn label_selector(object: &Value, pointer: &str) -> String {
    let selector = object.pointer(pointer).unwrap_or(&Value::Null);
    let expressions =
        items(selector, "/matchExpressions").map(|it| (text(it, "/key").to_owned(), requirement(it)));
    let mut requirements: Vec<_> = equalities(selector, "/matchLabels").chain(expressions).collect();
    requirements.sort_by(|(left, _), (right, _)| left.cmp(right));
    or_none(requirements.into_iter().map(|(_, text)| text).collect())
}

fn equalities<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = (String, String)> + 'a {
    let labels = fields(object, pointer).into_iter().flatten();
    labels.map(|(key, value)| (key.clone(), format!("{key}={}", value.as_str().unwrap_or_default())))
}

fn requirement(expression: &Value) -> String {
    let key = text(expression, "/key");
    let mut values: Vec<&str> = items(expression, "/values").filter_map(Value::as_str).collect();
    values.sort_unstable();
    let values = values.join(",");
    match text(expression, "/operator") {
        "In" => format!("{key} in ({values})"),
        "NotIn" => format!("{key} notin ({values})"),
        "DoesNotExist" => format!("!{key}"),
        _ => key.to_owned(),
    }
}

fn or_none(parts: Vec<String>) -> String {
    if parts.is_empty() { NONE.to_owned() } else { parts.join(",") }
}
