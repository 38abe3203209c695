//! The names of a kind.

use serde_json::Value;

use super::reading::{list, text};
use crate::field::Error;
use crate::names::{dns_1035_label, dns_subdomain};

/// Names that a definition cannot do without.
pub(super) fn required(names: &Value, errors: &mut Vec<Error>) {
    for name in ["plural", "singular", "kind", "listKind"] {
        if text(names, name).is_empty() {
            errors.push(Error::required(format!("spec.names.{name}"), ""));
        }
    }
}

pub(super) fn validate(names: &Value, path: &str, errors: &mut Vec<Error>) {
    for name in ["plural", "singular"] {
        let value = text(names, name);
        label(value, &format!("{path}.{name}"), errors);
    }
    for name in ["kind", "listKind"] {
        let value = text(names, name);
        let problems = dns_1035_label(&value.to_lowercase());
        if !value.is_empty() && !problems.is_empty() {
            let detail = format!("may have mixed case, but should otherwise match: {}", problems.join(","));
            errors.push(Error::invalid(format!("{path}.{name}"), value, detail));
        }
    }
    labels(names, "shortNames", path, errors);
    let kind = text(names, "kind");
    if !kind.is_empty() && kind == text(names, "listKind") {
        let detail = "kind and listKind may not be the same";
        errors.push(Error::invalid(format!("{path}.listKind"), kind, detail));
    }
    labels(names, "categories", path, errors);
}

fn labels(names: &Value, name: &str, path: &str, errors: &mut Vec<Error>) {
    for (index, value) in list(names, name).iter().enumerate() {
        // Unlike the others, these may not even be empty.
        let value = value.as_str().unwrap_or_default();
        let problems = dns_1035_label(value);
        if !problems.is_empty() {
            errors.push(Error::invalid(format!("{path}.{name}[{index}]"), value, problems.join(",")));
        }
    }
}

fn label(value: &str, field: &str, errors: &mut Vec<Error>) {
    let problems = dns_1035_label(value);
    if !value.is_empty() && !problems.is_empty() {
        errors.push(Error::invalid(field, value, problems.join(",")));
    }
}

/// The group and the name of the definition, which is made of the group and the plural.
pub(super) fn identity(crd: &Value, errors: &mut Vec<Error>) {
    let (name, spec) = (text(&crd["metadata"], "name"), &crd["spec"]);
    let mut problems = dns_subdomain(name);
    if name != format!("{}.{}", text(&spec["names"], "plural"), text(spec, "group")) {
        problems.push("must be spec.names.plural+\".\"+spec.group".into());
    }
    errors.extend(problems.into_iter().map(|problem| Error::invalid("metadata.name", name, problem)));
}

pub(super) fn group(group: &str, errors: &mut Vec<Error>) {
    let problems = dns_subdomain(group);
    if group.is_empty() {
        errors.push(Error::required("spec.group", ""));
    } else if !problems.is_empty() {
        errors.push(Error::invalid("spec.group", group, problems.join(",")));
    } else if !group.contains('.') {
        errors.push(Error::invalid("spec.group", group, "should be a domain with at least one dot"));
    }
}
