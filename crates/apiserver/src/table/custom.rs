//! The columns that a `CustomResourceDefinition` asks for, and the cells that its paths lead to.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::json_path::JsonPath;
use super::reading::{name, text};
use super::{age, built_in};
use crate::patch::Printed;

pub(super) struct CustomColumn {
    path: JsonPath,
    kind: Kind,
}

/// What a cell shows, by the type of its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    Date,
    /// A type that nobody knows: an empty cell.
    Nothing,
}

/// The definitions, with that of the name first, and what fills the cells after it. A path that cannot be read takes
/// its column and all behind it away, as it does in Kubernetes.
pub(super) fn columns(columns: &[Value]) -> (Vec<Value>, Vec<CustomColumn>) {
    let age = [age_column()];
    let columns = if columns.is_empty() { &age } else { columns };
    let read = columns.iter().map_while(|column| {
        let path = JsonPath::parse(text(column, "/jsonPath"))?;
        Some((definition(column), CustomColumn { path, kind: Kind::of(text(column, "/type")) }))
    });
    let (mut definitions, columns): (Vec<_>, Vec<_>) = read.unzip();
    definitions.insert(0, built_in::generic()[0].clone());
    (definitions, columns)
}

fn age_column() -> Value {
    let description = &built_in::generic()[1]["description"];
    json!({"name": "Age", "type": "date", "description": description, "jsonPath": ".metadata.creationTimestamp"})
}

fn definition(column: &Value) -> Value {
    let description = match text(column, "/description") {
        "" => {
            format!("Custom resource definition column (in JSONPath format): {}", text(column, "/jsonPath"))
        }
        description => description.to_owned(),
    };
    json!({
        "name": text(column, "/name"),
        "type": text(column, "/type"),
        "format": text(column, "/format"),
        "description": description,
        "priority": column.get("priority").and_then(Value::as_i64).unwrap_or_default(),
    })
}

/// Of several values that a path leads to, the first one is shown.
pub(super) fn cells(columns: &[CustomColumn], object: &Value, now: Timestamp) -> Value {
    let cells = columns
        .iter()
        .map(|column| column.path.first(object).map_or(Value::Null, |value| column.kind.cell(value, now)));
    std::iter::once(name(object).into()).chain(cells).collect()
}

impl Kind {
    fn of(column_type: &str) -> Self {
        match column_type {
            "string" => Self::Text,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "date" => Self::Date,
            _ => Self::Nothing,
        }
    }

    fn cell(self, value: &Value, now: Timestamp) -> Value {
        match (self, value) {
            (Self::Text, value) => shown(value).into(),
            (Self::Integer, Value::Number(number)) => whole(number).into(),
            (Self::Number, Value::Number(_)) | (Self::Boolean, Value::Bool(_)) => value.clone(),
            (Self::Date, Value::String(moment)) => age::since_unchecked(moment, now).into(),
            _ => Value::Null,
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a column of integers cuts off what is behind the point")]
fn whole(number: &serde_json::Number) -> i64 {
    number.as_i64().unwrap_or_else(|| number.as_f64().unwrap_or_default() as i64)
}

pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::Object(_) | Value::Array(_) => escaped(&value.to_string()),
        plain => Printed(plain).to_string(),
    }
}

/// Go's JSON is fit to be put into a web page.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            '\u{2028}' => text.push_str("\\u2028"),
            '\u{2029}' => text.push_str("\\u2029"),
            other => text.push(other),
        }
    }
    text
}
