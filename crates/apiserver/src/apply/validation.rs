//! Rules for what clients say about managers: in the options of a request, and in the entries that they send along.

use serde_json::Value;

use super::name::{LONGEST, UNPRINTABLE};
use crate::field;

/// The longest name of a subresource, in bytes.
const LONGEST_SUBRESOURCE: usize = 256;

/// What is wrong with the options of a patch. Those of other verbs have only the manager to be looked at.
pub fn validate_patch_options(field_manager: &str, force: Option<bool>, is_apply: bool) -> Vec<field::Error> {
    let mut errors = Vec::new();
    if is_apply && field_manager.is_empty() {
        errors.push(field::Error::required("fieldManager", "is required for apply patch"));
    }
    if !is_apply && force.is_some() {
        errors.push(field::Error::forbidden("force", "may not be specified for non-apply patch"));
    }
    errors.extend(validate_manager("fieldManager", field_manager));
    errors
}

/// What is wrong with the name of a manager: the `fieldManager` of a request, or the `manager` of an entry.
pub fn validate_manager(field: &str, name: &str) -> Vec<field::Error> {
    let mut errors = Vec::new();
    if name.len() > LONGEST {
        errors.push(field::Error::too_long(field, LONGEST));
    }
    for unprintable in UNPRINTABLE.find_iter(name) {
        let code = unprintable.as_str().chars().next().unwrap_or_default() as u32;
        let detail = format!("invalid character U+{code:04X} (at position {})", unprintable.start());
        errors.push(field::Error::invalid(field, name, detail));
    }
    errors
}

/// What is wrong with `metadata.managedFields`.
pub fn validate_entries(field: &str, entries: &[Value]) -> Vec<field::Error> {
    let mut errors = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let at = |name: &str| format!("{field}[{index}].{name}");
        if !matches!(text("operation"), "Apply" | "Update") {
            let rule = "must be `Apply` or `Update`";
            errors.push(field::Error::invalid(at("operation"), text("operation"), rule));
        }
        if !matches!(text("fieldsType"), "" | "FieldsV1") {
            errors.push(field::Error::invalid(at("fieldsType"), text("fieldsType"), "must be `FieldsV1`"));
        }
        errors.extend(validate_manager(&at("manager"), text("manager")));
        if text("subresource").len() > LONGEST_SUBRESOURCE {
            errors.push(field::Error::too_long(at("subresource"), LONGEST_SUBRESOURCE));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(errors: &[field::Error]) -> Vec<String> {
        errors.iter().map(field::Error::to_string).collect()
    }

    #[test]
    fn an_apply_names_its_manager_and_only_an_apply_is_forced() {
        let required = ["fieldManager: Required value: is required for apply patch"];
        assert_eq!(shown(&validate_patch_options("", None, true)), required);
        let forbidden = ["force: Forbidden: may not be specified for non-apply patch"];
        assert_eq!(shown(&validate_patch_options("me", Some(false), false)), forbidden);
        assert_eq!(validate_patch_options("me", Some(true), true), []);
    }

    #[test]
    fn entries_say_how_and_by_whom() {
        let entries =
            [json!({"operation": "Apply", "manager": "m"}), json!({"operation": "Nope", "fieldsType": "x"})];
        let expected = [
            "managedFields[1].operation: Invalid value: \"Nope\": must be `Apply` or `Update`",
            "managedFields[1].fieldsType: Invalid value: \"x\": must be `FieldsV1`",
        ];
        assert_eq!(shown(&validate_entries("managedFields", &entries)), expected);
    }

    #[test]
    fn names_are_short_and_printable() {
        assert_eq!(validate_manager("fieldManager", "fine name-1.é"), []);
        let errors: Vec<String> =
            validate_manager("fieldManager", "a\nb").iter().map(field::Error::to_string).collect();
        let expected = "fieldManager: Invalid value: \"a\\nb\": invalid character U+000A (at position 1)";
        assert_eq!(errors, [expected]);
        let errors = validate_manager("fieldManager", &"x".repeat(129));
        assert_eq!(errors[0].to_string(), "fieldManager: Too long: may not be more than 128 bytes");
    }
}
