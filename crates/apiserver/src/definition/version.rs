//! What a version says beside its schema: deprecation, columns, subresources and fields to select by.

use std::collections::HashSet;

use serde_json::Value;

use super::reading::{list, text};
use crate::field::Error;
use crate::schema::{Shape, from_open_api, paths};

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const MOST_SELECTABLE_FIELDS: usize = 8;

pub(super) fn deprecation(version: &Value, path: &str, errors: &mut Vec<Error>) {
    let Some(warning) = version["deprecationWarning"].as_str() else { return };
    let mut complain = |detail: String| {
        errors.push(Error::invalid(format!("{path}.deprecationWarning"), warning, detail));
    };
    if version["deprecated"] != true {
        return complain("can only be set for deprecated versions".into());
    }
    if warning.len() > 256 {
        complain("must be <= 256 characters long".into());
    }
    if warning.is_empty() {
        complain("must not be an empty string".into());
    }
    let strange = warning
        .char_indices()
        .find(|(_, character)| character.is_control() || (character.is_whitespace() && *character != ' '));
    if let Some((index, _)) = strange {
        complain(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {index}"
        ));
    }
}

pub(super) fn columns(holder: &Value, path: &str, errors: &mut Vec<Error>) {
    for (index, column) in list(holder, "additionalPrinterColumns").iter().enumerate() {
        self::column(column, &format!("{path}.additionalPrinterColumns[{index}]"), errors);
    }
}

fn column(column: &Value, path: &str, errors: &mut Vec<Error>) {
    if text(column, "name").is_empty() {
        errors.push(Error::required(format!("{path}.name"), ""));
    }
    let one_of = |values: &[&str]| format!("must be one of {}", values.join(","));
    match text(column, "type") {
        "" => errors.push(Error::required(format!("{path}.type"), one_of(&COLUMN_TYPES))),
        known if COLUMN_TYPES.contains(&known) => {}
        other => errors.push(Error::invalid(format!("{path}.type"), other, one_of(&COLUMN_TYPES))),
    }
    let format = text(column, "format");
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
        errors.push(Error::invalid(format!("{path}.format"), format, one_of(&COLUMN_FORMATS)));
    }
    match text(column, "jsonPath") {
        "" => errors.push(Error::required(format!("{path}.JSONPath"), "")),
        json_path => drop(simple_path(json_path, &format!("{path}.JSONPath"), errors)),
    }
}

pub(super) fn subresources(holder: &Value, path: &str, errors: &mut Vec<Error>) {
    let scale = &holder["subresources"]["scale"];
    if !scale.is_object() {
        return;
    }
    let path = format!("{path}.subresources.scale");
    for (name, root) in [("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")] {
        let (value, field) = (text(scale, name), format!("{path}.{name}"));
        if value.is_empty() {
            errors.push(Error::required(field, ""));
        } else if simple_path(value, &field, errors) && !value.starts_with(root) {
            let detail = format!("should be a json path under {}", root.trim_end_matches('.'));
            errors.push(Error::invalid(field, value, detail));
        }
    }
    let (selector, field) = (text(scale, "labelSelectorPath"), format!("{path}.labelSelectorPath"));
    let leads_inside = selector.starts_with(".spec.") || selector.starts_with(".status.");
    if !selector.is_empty() && simple_path(selector, &field, errors) && !leads_inside {
        errors.push(Error::invalid(field, selector, "should be a json path under either .spec or .status"));
    }
}

fn simple_path(path: &str, field: &str, errors: &mut Vec<Error>) -> bool {
    let is_simple = path.starts_with('.');
    if !is_simple {
        errors.push(Error::invalid(field, path, "must be a simple json path starting with ."));
    }
    is_simple
}

pub(super) fn selectable_fields(holder: &Value, schema: Option<&Value>, path: &str, errors: &mut Vec<Error>) {
    let fields = list(holder, "selectableFields");
    if fields.is_empty() {
        return;
    }
    let path = format!("{path}.selectableFields");
    let Some(schema) = schema else {
        errors.push(Error::invalid(path, "", "may only be set when validations.schema is included"));
        return;
    };
    let schema = from_open_api(schema);
    let mut seen = HashSet::new();
    for (index, field) in fields.iter().enumerate() {
        let (json_path, name) = (text(field, "jsonPath"), format!("{path}[{index}].jsonPath"));
        if json_path.is_empty() {
            errors.push(Error::required(name, ""));
            continue;
        }
        let found = match paths::find(json_path, &schema, false) {
            Ok(found) => found,
            Err(why) => {
                errors.push(Error::invalid(name, json_path, format!("is an invalid path: {why}")));
                continue;
            }
        };
        if found.path.split(['.', '[']).next() == Some("metadata") {
            errors.push(Error::invalid(name.clone(), json_path, "must not point to fields in metadata"));
        }
        if !matches!(found.schema.shape, Shape::String | Shape::Boolean | Shape::Integer) {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                          with formats are allowed.";
            errors.push(Error::invalid(name.clone(), json_path, detail));
        }
        if !seen.insert(found.path) {
            errors.push(Error::duplicate(name, json_path));
        }
    }
    if seen.len() > MOST_SELECTABLE_FIELDS {
        errors.push(Error::too_many(path, seen.len(), MOST_SELECTABLE_FIELDS));
    }
}
