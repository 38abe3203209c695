//! The names, labels and annotations of an embedded object.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::field::Error;
use crate::schema::path::Path;

static NAME_PART: LazyLock<Regex> = LazyLock::new(|| pattern("^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"));
static LABEL_1035: LazyLock<Regex> = LazyLock::new(|| pattern("^[a-z]([-a-z0-9]*[a-z0-9])?$"));
static LABEL_1123: LazyLock<Regex> = LazyLock::new(|| pattern("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"));
static SUBDOMAIN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is written here")
}

pub(super) fn validate(metadata: &Value, path: &Path<'_>, errors: &mut Vec<Error>) {
    let text = |name: &str| metadata.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let mut complain = |name: &str, value: &str, details: Vec<String>| {
        let field = path.field(name).name();
        errors.extend(details.into_iter().map(|detail| Error::invalid(field.clone(), value, detail)));
    };
    if let Some(prefix) = text("generateName") {
        complain("generateName", prefix, forbidden_characters(prefix));
    }
    if let Some(name) = text("name") {
        complain("name", name, path_segment(name));
    }
    if let Some(namespace) = text("namespace") {
        complain("namespace", namespace, label_1123(namespace));
    }
    for (key, value) in entries(metadata, "labels") {
        complain("labels", key, qualified_name(key));
        complain("labels", value, label_value(value));
    }
    for (key, _) in entries(metadata, "annotations") {
        complain("annotations", key, qualified_name(&key.to_lowercase()));
    }
    for finalizer in metadata.get("finalizers").and_then(Value::as_array).into_iter().flatten() {
        let finalizer = finalizer.as_str().unwrap_or_default();
        complain("finalizers", finalizer, qualified_name(finalizer));
    }
}

fn entries<'a>(metadata: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a str)> {
    let entries = metadata.get(name).and_then(Value::as_object).into_iter().flatten();
    entries.map(|(key, value)| (key, value.as_str().unwrap_or_default()))
}

fn path_segment(name: &str) -> Vec<String> {
    match name {
        "." | ".." => vec![format!("may not be '{name}'")],
        _ => forbidden_characters(name),
    }
}

fn forbidden_characters(name: &str) -> Vec<String> {
    let found = ['/', '%'].into_iter().filter(|character| name.contains(*character));
    found.map(|character| format!("may not contain '{character}'")).collect()
}

/// The name of a kind, a version or a short name.
pub(crate) fn label_1035(text: &str) -> Vec<String> {
    let rule = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', \
                regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
    limited(text, 63, &LABEL_1035, rule)
}

fn label_1123(text: &str) -> Vec<String> {
    let rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for \
                validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
    limited(text, 63, &LABEL_1123, rule)
}

pub(crate) fn subdomain(text: &str) -> Vec<String> {
    let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
                and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
                validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    limited(text, 253, &SUBDOMAIN, rule)
}

fn limited(text: &str, most: usize, pattern: &Regex, rule: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > most {
        problems.push(format!("must be no more than {most} bytes"));
    }
    if !pattern.is_match(text) {
        problems.push(rule.to_owned());
    }
    problems
}

fn qualified_name(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let rule = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let name = match text.split_once('/') {
        None => text,
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a qualified name {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
        Some(("", name)) => {
            problems.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((prefix, name)) => {
            problems.extend(subdomain(prefix).into_iter().map(|problem| format!("prefix part {problem}")));
            name
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        problems.push("name part must be no more than 63 bytes".to_owned());
    }
    if !NAME_PART.is_match(name) {
        problems.push(format!("name part {rule}"));
    }
    problems
}

fn label_value(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 63 {
        problems.push("must be no more than 63 bytes".to_owned());
    }
    if !text.is_empty() && !NAME_PART.is_match(text) {
        problems.push(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
             must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
             used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                .to_owned(),
        );
    }
    problems
}
