//! Rules in CEL: whether they are written in full, and whether they compile for the values that they are about.

use serde_json::Value;

use super::keywords::Place;
use super::reading::{list, text};
use crate::field::{Error, Problem};
use crate::schema::{Expression, Output, from_open_api, paths};

const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

pub(super) fn keywords(value: &Value, path: &str, errors: &mut Vec<Error>) {
    let rules = list(value, "x-kubernetes-validations");
    if rules.is_empty() {
        return;
    }
    let schema = from_open_api(value);
    for (index, rule) in rules.iter().enumerate() {
        let path = format!("{path}.x-kubernetes-validations[{index}]");
        texts(rule, &path, errors);
        if let Some(reason) = rule["reason"].as_str().filter(|reason| !REASONS.contains(reason)) {
            errors.push(Error::not_supported(format!("{path}.reason"), reason, &REASONS));
        }
        let (field_path, field) = (text(rule, "fieldPath"), format!("{path}.fieldPath"));
        if field_path.is_empty() {
            continue;
        }
        if field_path.trim().is_empty() {
            errors.push(Error::invalid(field.as_str(), field_path, "must be non-empty if specified"));
        }
        if has_line_breaks(field_path) {
            errors.push(Error::invalid(field.as_str(), field_path, "must not contain line breaks"));
        }
        if paths::find(field_path, &schema, true).is_err() {
            errors.push(Error::invalid(field, field_path, "must be a valid path"));
        }
    }
}

fn texts(rule: &Value, path: &str, errors: &mut Vec<Error>) {
    let (source, message) = (text(rule, "rule").trim(), text(rule, "message"));
    if source.is_empty() {
        errors.push(Error::required(format!("{path}.rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(Error::invalid(format!("{path}.message"), message, "must be non-empty if specified"));
    } else if has_line_breaks(message.trim()) {
        errors.push(Error::invalid(format!("{path}.message"), message, "must not contain line breaks"));
    } else if has_line_breaks(source) && message.trim().is_empty() {
        let detail = "message must be specified if rule contains line breaks";
        errors.push(Error::required(format!("{path}.message"), detail));
    }
    let expression = text(rule, "messageExpression");
    if !expression.is_empty() && expression.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(Error::required(format!("{path}.messageExpression"), detail));
    }
}

fn has_line_breaks(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

pub(super) fn validate(value: &Value, path: &str, place: Place<'_>, errors: &mut Vec<Error>) {
    let rules = list(value, "x-kubernetes-validations");
    if rules.is_empty() {
        return;
    }
    let schema = from_open_api(value);
    let is_resource = place.is_root || schema.is_embedded_resource;
    let compile =
        |source: &str, optional, output| Expression::checked(source, &schema, is_resource, optional, output);
    for (index, rule) in rules.iter().enumerate() {
        let path = format!("{path}.x-kubernetes-validations[{index}]");
        let optional = rule["optionalOldSelf"].as_bool();
        let source = text(rule, "rule");
        let program = match compile(source, optional == Some(true), Output::Bool) {
            Ok(program) => program,
            Err(why) => {
                errors.push(refused(format!("{path}.rule"), rule, &why));
                continue;
            }
        };
        let message = text(rule, "messageExpression");
        if !message.is_empty()
            && let Err(why) = compile(message, optional == Some(true), Output::Text)
        {
            errors.push(refused(
                format!("{path}.messageExpression"),
                rule,
                &format!("messageExpression {why}"),
            ));
        }
        match (program.uses_old_value, place.uncorrelated, optional) {
            (true, Some(above), _) => {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {above}"
                );
                errors.push(Error::invalid(format!("{path}.rule"), source, detail));
            }
            (false, _, Some(optional)) => {
                let detail = "may not be set if oldSelf is not used in rule";
                errors.push(Error::invalid(format!("{path}.optionalOldSelf"), optional, detail));
            }
            _ => {}
        }
    }
}

/// Kubernetes shows the whole rule, as its own code holds it.
fn refused(field: String, rule: &Value, why: &str) -> Error {
    let quoted = |name: &str| go_json(&Value::from(text(rule, name)));
    let optional = |name: &str| go_json(rule.get(name).unwrap_or(&Value::Null));
    let shown = format!(
        r#"{{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{},"FieldPath":{},"OptionalOldSelf":{}}}"#,
        quoted("rule"),
        quoted("message"),
        quoted("messageExpression"),
        optional("reason"),
        quoted("fieldPath"),
        optional("optionalOldSelf"),
    );
    Error::new(field, Problem::InvalidUnshown, format!("{shown}: {why}"))
}

/// Go escapes what could end a script in a web page.
fn go_json(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}
