//! Objects inside an object: they name their kind, and their metadata is in order.

mod names;

use serde_json::Value;

use super::path::Path;
use super::{Schema, Shape, metadata};
use crate::field::Error;
use crate::names::dns_1035_label;

/// What is wrong with the embedded objects of a value. The value itself is none of them.
pub(super) fn validate(schema: &Schema, value: &Value) -> Vec<Error> {
    let mut errors = Vec::new();
    visit(schema, value, &Path::ROOT, &mut |object, path| check(object, path, &mut errors));
    errors
}

/// The first embedded object that cannot be read as one: a request with such a one is not even decoded.
pub(super) fn unreadable(schema: &Schema, value: &Value) -> Option<Error> {
    let mut first = None;
    visit(schema, value, &Path::ROOT, &mut |object, path| {
        if first.is_none() {
            first = unreadable_part(object, path);
        }
    });
    first
}

type Visitor<'a> = dyn FnMut(&Value, &Path<'_>) + 'a;

fn visit(schema: &Schema, value: &Value, path: &Path<'_>, visitor: &mut Visitor<'_>) {
    match (&schema.shape, value) {
        (Shape::Array(items), Value::Array(values)) => {
            for (index, value) in values.iter().enumerate() {
                visit(items, value, &path.index(index), visitor);
            }
        }
        (shape, Value::Object(values)) => {
            if schema.is_embedded_resource {
                visitor(value, path);
            }
            let Shape::Object(fields) = shape else { return };
            for (name, value) in values {
                match (fields.known.get(name), &fields.others) {
                    (Some(field), _) => visit(field, value, &path.field(name), visitor),
                    (None, Some(others)) => visit(others, value, &path.key(name), visitor),
                    (None, None) => {}
                }
            }
        }
        _ => {}
    }
}

fn unreadable_part(object: &Value, path: &Path<'_>) -> Option<Error> {
    for name in ["apiVersion", "kind"] {
        let value = object.get(name).filter(|value| !value.is_string());
        if let Some(value) = value {
            return Some(Error::invalid(path.field(name).name(), value.clone(), "must be a string"));
        }
    }
    let found = object.get("metadata")?;
    let why = metadata::unreadable(found)?;
    Some(Error::invalid(path.field("metadata").name(), found.clone(), why))
}

fn check(object: &Value, path: &Path<'_>, errors: &mut Vec<Error>) {
    for name in ["apiVersion", "kind"] {
        if object.get(name).is_none() {
            errors.push(Error::required(path.field(name).name(), ""));
        }
    }
    for (name, problem) in [("apiVersion", api_version as fn(&str) -> Option<String>), ("kind", kind)] {
        let Some(value) = object.get(name) else { continue };
        let detail = match value.as_str() {
            None => Some("must be a string".to_owned()),
            Some("") => Some("must not be empty".to_owned()),
            Some(text) => problem(text),
        };
        errors.extend(detail.map(|detail| Error::invalid(path.field(name).name(), value.clone(), detail)));
    }
    if let Some(metadata) = object.get("metadata") {
        names::validate(metadata, &path.field("metadata"), errors);
    }
}

fn api_version(text: &str) -> Option<String> {
    (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}"))
}

fn kind(text: &str) -> Option<String> {
    let problems = dns_1035_label(&text.to_lowercase());
    (!problems.is_empty())
        .then(|| format!("may have mixed case, but should otherwise match: {}", problems.join(",")))
}
