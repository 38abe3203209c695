//! Whether a schema is structural: every field has a type of its own, and what stands under `allOf` and its like only
//! restricts values.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::reading::{fields, flag, is_set, list, schema, text};
use crate::field::Error;
use crate::schema::compile_pattern;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// In the order of the errors' text, as Kubernetes sorts them.
pub(super) fn validate(root: &Value, path: &str) -> Vec<Error> {
    let mut errors = Vec::new();
    invariants(root, Level::Root, path, &mut errors);
    complete(root, Some(root), path, path, &mut errors);
    patterns(root, path, &mut HashMap::new(), &mut errors);
    errors.sort_by_key(ToString::to_string);
    errors
}

fn invariants(value: &Value, level: Level, path: &str, errors: &mut Vec<Error>) {
    let kind = text(value, "type");
    match schema(value, "items") {
        Some(items) => invariants(items, Level::Item, &format!("{path}.items"), errors),
        None if kind == "array" => errors.push(Error::required(format!("{path}.items"), "must be specified")),
        None => {}
    }
    for (name, field) in fields(value, "properties") {
        invariants(field, Level::Field, &format!("{path}.properties[{name}]"), errors);
    }
    additional(value, level, path, errors);
    extensions(value, path, errors);
    let is_int_or_string =
        |schema: &Value| schema["anyOf"] == json!([{"type": "integer"}, {"type": "string"}]);
    let first_all_of = list(value, "allOf").first().is_some_and(is_int_or_string);
    value_rules(value, is_int_or_string(value), first_all_of, path, errors);
    own_type(value, level, path, errors);
    object_meta(value, level, path, errors);
    let embedded = flag(value, "x-kubernetes-embedded-resource");
    let keeps = flag(value, "x-kubernetes-preserve-unknown-fields");
    if embedded && !keeps && fields(value, "properties").next().is_none() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        errors.push(Error::required(format!("{path}.properties"), detail));
    }
}

fn additional(value: &Value, level: Level, path: &str, errors: &mut Vec<Error>) {
    if value.get("additionalProperties").is_none_or(Value::is_null) {
        return;
    }
    let path = format!("{path}.additionalProperties");
    if level == Level::Root {
        errors.push(Error::forbidden(path.as_str(), "must not be used at the root"));
    }
    if let Some(others) = schema(value, "additionalProperties") {
        invariants(others, Level::Field, &path, errors);
    }
    if flag(value, "x-kubernetes-embedded-resource") {
        errors.push(Error::forbidden(path, "must not be used if x-kubernetes-embedded-resource is set"));
    }
}

fn extensions(value: &Value, path: &str, errors: &mut Vec<Error>) {
    if !flag(value, "x-kubernetes-int-or-string") {
        return;
    }
    for name in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
        if flag(value, name) {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            errors.push(Error::invalid(format!("{path}.{name}"), true, detail));
        }
    }
}

fn own_type(value: &Value, level: Level, path: &str, errors: &mut Vec<Error>) {
    let (kind, field) = (text(value, "type"), format!("{path}.type"));
    let free =
        flag(value, "x-kubernetes-int-or-string") || flag(value, "x-kubernetes-preserve-unknown-fields");
    if flag(value, "x-kubernetes-embedded-resource") && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match kind {
            "" => Error::required(field.as_str(), detail),
            kind => Error::invalid(field.as_str(), kind, detail),
        });
    } else if kind.is_empty() && !free {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(Error::required(field.as_str(), detail));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.push(Error::invalid(field, kind, "must be object at the root"));
    }
}

/// What every object has may be restricted only a little.
fn object_meta(value: &Value, level: Level, path: &str, errors: &mut Vec<Error>) {
    let is_object = level == Level::Root || flag(value, "x-kubernetes-embedded-resource");
    let property = |name: &str| value["properties"].get(name);
    for name in ["kind", "apiVersion"] {
        if let Some(kind) =
            property(name).map(|property| text(property, "type")).filter(|kind| *kind != "string")
            && is_object
        {
            errors.push(Error::invalid(format!("{path}.properties[{name}].type"), kind, "must be string"));
        }
    }
    let Some(metadata) = property("metadata") else { return };
    let path = format!("{path}.properties[metadata]");
    if is_object && text(metadata, "type") != "object" {
        errors.push(Error::invalid(format!("{path}.type"), text(metadata, "type"), "must be object"));
    }
    if level == Level::Root && !only_restricts_names(metadata) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly \
                      specified";
        errors.push(Error::forbidden(path, detail));
    }
}

fn only_restricts_names(metadata: &Value) -> bool {
    let names_only =
        fields(metadata, "properties").all(|(name, _)| matches!(name.as_str(), "name" | "generateName"));
    let others = metadata.as_object().into_iter().flatten().filter(|(name, _)| {
        !matches!(name.as_str(), "type" | "default" | "properties" | "x-kubernetes-validations")
    });
    names_only && others.into_iter().all(|(name, _)| !is_set(metadata, name))
}

fn value_rules(value: &Value, skips_any: bool, skips_first_all: bool, path: &str, errors: &mut Vec<Error>) {
    if !skips_any {
        for (index, part) in list(value, "anyOf").iter().enumerate() {
            nested(part, false, &format!("{path}.anyOf[{index}]"), errors);
        }
    }
    for (index, part) in list(value, "allOf").iter().enumerate() {
        nested(part, skips_first_all && index == 0, &format!("{path}.allOf[{index}]"), errors);
    }
    for (index, part) in list(value, "oneOf").iter().enumerate() {
        nested(part, false, &format!("{path}.oneOf[{index}]"), errors);
    }
    if let Some(part) = schema(value, "not") {
        nested(part, false, &format!("{path}.not"), errors);
    }
}

/// Large schemas hold the same few patterns over and over: each is compiled once.
fn patterns<'a>(
    value: &'a Value,
    path: &str,
    known: &mut HashMap<&'a str, Option<String>>,
    errors: &mut Vec<Error>,
) {
    let pattern = text(value, "pattern");
    if !pattern.is_empty()
        && let Some(why) = known.entry(pattern).or_insert_with(|| compile_pattern(pattern).err())
    {
        let detail = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(Error::invalid(format!("{path}.pattern"), pattern, detail));
    }
    for name in ["items", "additionalProperties", "not"] {
        if let Some(part) = schema(value, name) {
            patterns(part, &format!("{path}.{name}"), known, errors);
        }
    }
    for (name, field) in fields(value, "properties") {
        patterns(field, &format!("{path}.properties[{name}]"), known, errors);
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        for (index, part) in list(value, name).iter().enumerate() {
            patterns(part, &format!("{path}.{name}[{index}]"), known, errors);
        }
    }
}

/// Keywords that describe values, which is for the schema outside to do.
const FORBIDDEN: [(&str, &str); 12] = [
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
];

fn nested(value: &Value, skips_any: bool, path: &str, errors: &mut Vec<Error>) {
    value_rules(value, skips_any, false, path, errors);
    if let Some(items) = schema(value, "items") {
        nested(items, false, &format!("{path}.items"), errors);
    }
    for (name, field) in fields(value, "properties") {
        nested(field, false, &format!("{path}.properties[{name}]"), errors);
    }
    for (name, detail) in FORBIDDEN {
        let counts = match name {
            "default" | "additionalProperties" => value.get(name).is_some_and(|value| !value.is_null()),
            _ => is_set(value, name),
        };
        if counts {
            errors.push(Error::forbidden(format!("{path}.{name}"), detail));
        }
    }
    if is_set(value, "x-kubernetes-validations") {
        errors.push(Error::forbidden(
            format!("{path}.x-kubernetes-validations"),
            "must be empty to be structural",
        ));
    }
    if value["properties"].get("metadata").is_some() {
        let detail = "must not be specified in a nested context";
        errors.push(Error::forbidden(format!("{path}.properties[metadata]"), detail));
    }
}

/// What is restricted at the root is also described there.
fn complete(value: &Value, described: Option<&Value>, at: &str, path: &str, errors: &mut Vec<Error>) {
    if let Some(part) = schema(value, "not") {
        complete_part(part, described, at, &format!("{path}.not"), errors);
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        for (index, part) in list(value, name).iter().enumerate() {
            complete_part(part, described, at, &format!("{path}.{name}[{index}]"), errors);
        }
    }
}

fn complete_part(part: &Value, described: Option<&Value>, at: &str, path: &str, errors: &mut Vec<Error>) {
    let Some(described) = described else {
        errors.push(Error::required(at, format!("because it is defined in {path}")));
        return;
    };
    complete(part, Some(described), at, path, errors);
    if let Some(items) = schema(part, "items") {
        let inside = schema(described, "items");
        complete_part(items, inside, &format!("{at}.items"), &format!("{path}.items"), errors);
    }
    for (name, field) in fields(part, "properties") {
        let inside = described["properties"].get(name);
        let (at, path) = (format!("{at}.properties[{name}]"), format!("{path}.properties[{name}]"));
        complete_part(field, inside, &at, &path, errors);
    }
}
