//! Whether a value has the type that its schema names. Kubernetes has its own ideas of what goes with a format.

use serde_json::Value;

use super::finding::{Finding, Outcome};
use super::number::{Numeral, is_integral};
use crate::schema::path::Path;
use crate::schema::{Schema, Shape, format};

pub(super) fn of_null(schema: &Schema, path: &Path<'_>) -> Outcome {
    match wanted(schema) {
        Some(wanted) if !schema.nullable => Finding::wrong_type(path, wanted, "null").into(),
        _ => Outcome::matching(),
    }
}

/// None where the schema names neither a type nor a format.
pub(super) fn of_value(schema: &Schema, value: &Value, path: &Path<'_>) -> Option<Outcome> {
    let wanted = wanted(schema);
    let format = known_format(schema);
    if wanted.is_none() && format.is_none() {
        return None;
    }
    let (kind, kind_format) = kind_of(value);
    let fits = fits(schema, wanted, value, kind);
    let is_text_or_list = matches!(value, Value::String(_) | Value::Array(_));
    let outcome = match format {
        Some(format) if !is_text_or_list && !fits && format != kind_format => {
            Finding::wrong_type(path, format, kind_format).into()
        }
        // With a format, text and lists pass here; the format is what looks at the text.
        Some(_) if is_text_or_list && !is_numeric(schema, wanted) => Outcome::matching(),
        _ if fits => Outcome::matching(),
        _ => Finding::wrong_type(path, wanted.unwrap_or_default(), kind).into(),
    };
    Some(outcome)
}

/// The format, where it means something for the type.
pub(super) fn known_format(schema: &Schema) -> Option<&str> {
    let format = schema.rules.as_ref()?.format.as_deref()?;
    format::is_known(schema, format).then_some(format)
}

fn is_numeric(schema: &Schema, wanted: Option<&str>) -> bool {
    wanted.is_some() && matches!(schema.shape, Shape::Integer | Shape::Number | Shape::IntOrString)
}

fn fits(schema: &Schema, wanted: Option<&str>, value: &Value, kind: &str) -> bool {
    wanted.is_some()
        && match (&schema.shape, value) {
            (Shape::Integer | Shape::IntOrString, Value::Number(number)) => is_integral(number),
            (Shape::Number, Value::Number(_)) | (Shape::IntOrString, Value::String(_)) => true,
            _ => wanted == Some(kind),
        }
}

/// The type as it is written in the schema; none where it is not.
fn wanted(schema: &Schema) -> Option<&'static str> {
    match schema.shape {
        Shape::IntOrString => Some("integer,string"),
        _ if schema.is_untyped => None,
        Shape::Any => None,
        Shape::Object(_) => Some("object"),
        Shape::Array(_) => Some("array"),
        Shape::String => Some("string"),
        Shape::Integer => Some("integer"),
        Shape::Number => Some("number"),
        Shape::Boolean => Some("boolean"),
    }
}

/// The type of a value, and the format that goes with it.
fn kind_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
        Value::Number(number) => match Numeral::from(number) {
            Numeral::Int(_) => ("integer", "int64"),
            Numeral::Float(_) => ("number", "float64"),
        },
    }
}
