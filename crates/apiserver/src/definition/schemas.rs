//! The schema of a version as a whole: whether it can be read, and in which order its parts are looked at.

use std::sync::Arc;

use serde_json::{Value, json};

use super::keywords::{self, Place};
use super::reading::{fields, flag, is_set, list, schema, text};
use super::{default_values, structural};
use crate::field::{Error, Problem};
use crate::schema::{Schema, from_open_api, is_known_format};

/// Definitions nest their schemas; deeper than this is an attack on the stack of whoever reads them.
const MOST_NESTING: usize = 256;

/// Keywords that may stand at the root beside a status: those that still hold when the status is taken out.
const BESIDE_STATUS: [&str; 22] = [
    "description",
    "type",
    "format",
    "title",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "required",
    "items",
    "properties",
    "externalDocs",
    "example",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

pub(super) fn validate(root: &Value, path: &str, has_status: bool, errors: &mut Vec<Error>) {
    if has_status {
        beside_status(root, path, errors);
    }
    if flag(root, "nullable") {
        errors.push(Error::forbidden(format!("{path}.nullable"), "nullable cannot be true at the root"));
    }
    let unreadable = unreadable(root);
    let mut has_rules = false;
    if unreadable.is_none() {
        let found = structural::validate(root, path);
        let found = if found.is_empty() { defaults(root, path) } else { found };
        has_rules = found.is_empty();
        errors.extend(found);
    }
    let place = Place { is_root: true, has_rules, ..Place::default() };
    let found = keywords::validate(root, path, place);
    let before = errors.len();
    errors.extend(found.keywords);
    errors.extend(found.rules);
    if let Some(why) = unreadable.filter(|_| errors.len() == before) {
        errors.push(Error::invalid(path, "", why));
    }
}

fn defaults(root: &Value, path: &str) -> Vec<Error> {
    let schema = Schema { is_embedded_resource: true, ..from_open_api(root) };
    default_values::validate(&Arc::new(schema), path, true)
}

fn beside_status(root: &Value, path: &str, errors: &mut Vec<Error>) {
    let kind = text(root, "type");
    if !kind.is_empty() && kind != "object" {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is \
                      enabled";
        errors.push(Error::invalid(format!("{path}.type"), kind, detail));
        return;
    }
    let names = root.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    if names.into_iter().any(|name| is_set(root, name) && !BESIDE_STATUS.contains(&name)) {
        let detail = "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength \
                      MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties \
                      ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the \
                      schema if the status subresource is enabled";
        errors.push(Error::new(path, Problem::InvalidUnshown, detail));
    }
}

/// Why a schema cannot be read as a structural one at all.
fn unreadable(value: &Value) -> Option<&'static str> {
    let there = |name: &str| value.get(name).is_some_and(|value| !value.is_null());
    let own = match () {
        () if is_set(value, "id") => Some("OpenAPIV3Schema 'id' is not supported"),
        () if is_set(value, "$schema") => Some("OpenAPIV3Schema 'schema' is not supported"),
        () if there("$ref") => Some("OpenAPIV3Schema '$ref' is not supported"),
        () if is_set(value, "patternProperties") => {
            Some("OpenAPIV3Schema 'patternProperties' is not supported")
        }
        () if there("dependencies") => Some("OpenAPIV3Schema 'dependencies' is not supported"),
        () if there("additionalItems") => Some("OpenAPIV3Schema 'additionalItems' is not supported"),
        () if is_set(value, "definitions") => Some("OpenAPIV3Schema 'definitions' is not supported"),
        () if !list(value, "items").is_empty() => {
            Some("OpenAPIV3Schema 'items' must be a schema, but is an array")
        }
        () if value.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) => {
            Some("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined")
        }
        () => None,
    };
    own.or_else(|| parts(value).into_iter().find_map(unreadable))
}

/// The schemas right inside a schema.
fn parts(value: &Value) -> Vec<&Value> {
    let single = ["items", "additionalProperties", "not"].into_iter().filter_map(|name| schema(value, name));
    let several = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|name| list(value, name));
    single.chain(several).chain(fields(value, "properties").map(|(_, field)| field)).collect()
}

/// Adds the formats that mean nothing, each as often as it is written.
pub(super) fn collect_formats(value: &Value, found: &mut Vec<String>) {
    let format = text(value, "format");
    if !format.is_empty() && !is_known_format(&from_open_api(&json!({"type": value.get("type")})), format) {
        found.push(format.to_owned());
    }
    for part in parts(value) {
        collect_formats(part, found);
    }
}

pub(super) fn is_too_deep(value: &Value) -> bool {
    let mut layer: Vec<&Value> = vec![value];
    for _ in 0..MOST_NESTING {
        if layer.is_empty() {
            return false;
        }
        let inside = layer.into_iter().flat_map(|value| -> Box<dyn Iterator<Item = &Value>> {
            match value {
                Value::Array(items) => Box::new(items.iter()),
                Value::Object(fields) => Box::new(fields.values()),
                _ => Box::new(std::iter::empty()),
            }
        });
        layer = inside.collect();
    }
    !layer.is_empty()
}

pub(super) fn too_deep() -> Error {
    let detail = format!("must not be nested deeper than {MOST_NESTING} levels");
    Error::new("spec", Problem::InvalidUnshown, detail)
}
