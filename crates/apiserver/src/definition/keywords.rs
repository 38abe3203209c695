//! The keywords of a schema: which are supported, and which go together.

use std::collections::HashSet;

use serde_json::Value;

use super::reading::{fields, flag, is_set, list, schema, text, texts};
use super::rules;
use crate::field::Error;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// What is wrong: with keywords, and with rules in CEL. The latter are looked at where the former are in order.
#[derive(Default)]
pub(super) struct Found {
    pub keywords: Vec<Error>,
    pub rules: Vec<Error>,
}

/// Where in a definition a schema stands, as far as that matters.
#[derive(Clone, Copy, Default)]
pub(super) struct Place<'a> {
    pub is_root: bool,
    /// Rules are compiled: the whole schema is structural, and this part describes values.
    pub has_rules: bool,
    /// Why there can be no defaults here.
    pub forbids_defaults: Option<&'a str>,
    pub is_in_metadata: bool,
    /// The part of the schema above in which old and new values cannot be told to belong together.
    pub uncorrelated: Option<&'a str>,
}

pub(super) fn validate(value: &Value, path: &str, place: Place<'_>) -> Found {
    let mut found = Found::default();
    unsupported(value, path, place, &mut found.keywords);
    if flag(value, "uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        found.keywords.push(Error::forbidden(format!("{path}.uniqueItems"), detail));
    }
    inside(value, path, place, &mut found);
    if value.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let field = format!("{path}.x-kubernetes-preserve-unknown-fields");
        found.keywords.push(Error::invalid(field, false, "must be true or undefined"));
    }
    map_type(value, path, &mut found.keywords);
    list_type(value, path, &mut found.keywords);
    keyed_list(value, path, &mut found.keywords);
    items_and_keys(value, path, &mut found.keywords);
    rules::keywords(value, path, &mut found.keywords);
    if found.keywords.is_empty() && place.has_rules {
        rules::validate(value, path, place, &mut found.rules);
    }
    found
}

fn unsupported(value: &Value, path: &str, place: Place<'_>, errors: &mut Vec<Error>) {
    let kind = text(value, "type");
    if !kind.is_empty() && !TYPES.contains(&kind) {
        errors.push(Error::not_supported(format!("{path}.type"), kind, &TYPES));
    }
    if let Some(why) = place.forbids_defaults
        && value.get("default").is_some_and(|default| !default.is_null())
    {
        errors.push(Error::forbidden(format!("{path}.default"), format!("must not be set {why}")));
    }
    let mut forbid = |name: &str, detail: &str| {
        errors.push(Error::forbidden(format!("{path}.{name}"), detail));
    };
    for name in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
        let is_there = match name {
            "additionalItems" | "$ref" | "dependencies" => {
                value.get(name).is_some_and(|value| !value.is_null())
            }
            _ => is_set(value, name),
        };
        if is_there {
            forbid(name, &format!("{name} is not supported"));
        }
    }
    if kind == "null" {
        forbid("type", "type cannot be set to null, use nullable as an alternative");
    }
    if !list(value, "items").is_empty() {
        forbid("items", "items must be a schema object and not an array");
    }
    if place.is_in_metadata && flag(value, "x-kubernetes-embedded-resource") {
        forbid("x-kubernetes-embedded-resource", "must not be used inside of resource meta");
    }
}

fn inside(value: &Value, path: &str, place: Place<'_>, found: &mut Found) {
    let mut look = |value: &Value, path: &str, place: Place<'_>| {
        let inner = validate(value, path, Place { is_root: false, ..place });
        found.keywords.extend(inner.keywords);
        found.rules.extend(inner.rules);
    };
    let has_fields = fields(value, "properties").next().is_some();
    let others = value.get("additionalProperties").filter(|others| !others.is_null());
    if let Some(others) = others {
        let mut place = place;
        if place.is_in_metadata {
            place.forbids_defaults = Some("inside additionalProperties applying to object metadata");
        }
        look(others, &format!("{path}.additionalProperties"), place);
    }
    for (name, field) in fields(value, "properties") {
        let mut place = place;
        let top_level = format!("in top-level {name}");
        let is_object = place.is_root || flag(value, "x-kubernetes-embedded-resource");
        if is_object && matches!(name.as_str(), "metadata" | "kind" | "apiVersion") {
            place.forbids_defaults = place.is_root.then_some(top_level.as_str()).or(place.forbids_defaults);
            place.is_in_metadata = true;
        }
        look(field, &format!("{path}.properties[{name}]"), place);
    }
    let nested = Place { has_rules: false, ..place };
    if let Some(not) = schema(value, "not") {
        look(not, &format!("{path}.not"), nested);
    }
    for name in ["allOf", "oneOf", "anyOf"] {
        for (index, part) in list(value, name).iter().enumerate() {
            look(part, &format!("{path}.{name}[{index}]"), nested);
        }
    }
    if let Some(items) = schema(value, "items") {
        let correlated = text(value, "x-kubernetes-list-type") == "map";
        let uncorrelated = place.uncorrelated.or((!correlated).then_some(path));
        look(items, &format!("{path}.items"), Place { uncorrelated, ..place });
    }
    if has_fields && others.is_some_and(|others| *others != Value::Bool(true)) {
        let detail = "additionalProperties and properties are mutual exclusive";
        let first = Error::forbidden(format!("{path}.additionalProperties"), detail);
        found.keywords.insert(0, first);
    }
}

fn map_type(value: &Value, path: &str, errors: &mut Vec<Error>) {
    let Some(map_type) = value["x-kubernetes-map-type"].as_str() else { return };
    wants_type(value, "object", "x-kubernetes-map-type", path, errors);
    if !matches!(map_type, "atomic" | "granular") {
        let field = format!("{path}.x-kubernetes-map-type");
        errors.push(Error::not_supported(field, map_type, &["atomic", "granular"]));
    }
}

fn wants_type(value: &Value, wanted: &str, keyword: &str, path: &str, errors: &mut Vec<Error>) {
    let (kind, field) = (text(value, "type"), format!("{path}.type"));
    let detail = format!("must be {wanted} if {keyword} is specified");
    match kind {
        "" => errors.push(Error::required(field, detail)),
        kind if kind != wanted => errors.push(Error::invalid(field, kind, detail)),
        _ => {}
    }
}

fn list_type(value: &Value, path: &str, errors: &mut Vec<Error>) {
    let written = value["x-kubernetes-list-type"].as_str();
    if let Some(list_type) = written {
        if text(value, "type") != "array" {
            wants_type(value, "array", "x-kubernetes-list-type", path, errors);
        } else if list_type == "set" {
            set_items(value, path, errors);
        }
        if !matches!(list_type, "atomic" | "set" | "map") {
            let field = format!("{path}.x-kubernetes-list-type");
            errors.push(Error::not_supported(field, list_type, &["atomic", "set", "map"]));
        }
    }
    if is_set(value, "x-kubernetes-list-map-keys") && written != Some("map") {
        let field = format!("{path}.x-kubernetes-list-type");
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        errors.push(match written {
            None => Error::required(field, detail),
            Some(list_type) => Error::invalid(field, list_type, detail),
        });
    }
}

/// Items of a set are compared as wholes, so they change as wholes.
fn set_items(value: &Value, path: &str, errors: &mut Vec<Error>) {
    let Some(items) = schema(value, "items") else { return };
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let shown = items["x-kubernetes-list-type"].clone();
    match text(items, "type") {
        "array" if !matches!(shown.as_str(), None | Some("atomic")) => {
            errors.push(Error::invalid(format!("{path}.items.x-kubernetes-list-type"), shown, detail));
        }
        "object" if text(items, "x-kubernetes-map-type") != "atomic" => {
            errors.push(Error::invalid(format!("{path}.items.x-kubernetes-map-type"), shown, detail));
        }
        _ => {}
    }
}

fn keyed_list(value: &Value, path: &str, errors: &mut Vec<Error>) {
    if text(value, "x-kubernetes-list-type") != "map" {
        return;
    }
    let keys = texts(value, "x-kubernetes-list-map-keys");
    let keys_field = format!("{path}.x-kubernetes-list-map-keys");
    if keys.is_empty() {
        errors
            .push(Error::required(keys_field.as_str(), "must not be empty if x-kubernetes-list-type is map"));
    }
    let Some(items) = schema(value, "items") else {
        let detail = "must have a schema if x-kubernetes-list-type is map";
        errors.push(Error::required(format!("{path}.items"), detail));
        return;
    };
    let kind = text(items, "type");
    if kind != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(Error::invalid(format!("{path}.items.type"), kind, detail));
        return;
    }
    let mut seen = HashSet::new();
    for key in &keys {
        match items["properties"].get(key).map(|field| text(field, "type")) {
            None => {
                let detail = "entries must all be names of item properties";
                errors.push(Error::invalid(keys_field.as_str(), keys.clone(), detail));
            }
            Some("array" | "object") => {
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(Error::invalid(format!("{path}.items.properties[{key}].type"), kind, detail));
            }
            Some(_) => {}
        }
        if !seen.insert(key) {
            errors.push(Error::invalid(
                keys_field.as_str(),
                keys.clone(),
                "must not contain duplicate entries",
            ));
        }
    }
}

/// Items of sets and keyed lists are never null, and keys are always there.
fn items_and_keys(value: &Value, path: &str, errors: &mut Vec<Error>) {
    let list_type = text(value, "x-kubernetes-list-type");
    let Some(items) = schema(value, "items").filter(|_| matches!(list_type, "set" | "map")) else { return };
    if flag(items, "nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(Error::forbidden(format!("{path}.items.nullable"), detail));
    }
    if list_type != "map" {
        return;
    }
    let required = texts(items, "required");
    for key in texts(value, "x-kubernetes-list-map-keys") {
        let Some(field) = items["properties"].get(&key) else { continue };
        let path = format!("{path}.items.properties[{key}]");
        if !required.contains(&key) && field.get("default").is_none_or(Value::is_null) {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                          property";
            errors.push(Error::required(format!("{path}.default"), detail));
        }
        if flag(field, "nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(Error::forbidden(format!("{path}.nullable"), detail));
        }
    }
}
