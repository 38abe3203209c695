//! The names, labels and annotations of an embedded object.

use serde_json::Value;

use crate::field::Error;
use crate::names::{
    caseless_qualified_name, dns_label, label_value, path_segment, path_segment_prefix, qualified_name,
};
use crate::schema::path::Path;

pub(super) fn validate(metadata: &Value, path: &Path<'_>, errors: &mut Vec<Error>) {
    let text = |name: &str| metadata.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let mut complain = |name: &str, value: &str, details: Vec<String>| {
        let field = path.field(name).name();
        errors.extend(details.into_iter().map(|detail| Error::invalid(field.clone(), value, detail)));
    };
    if let Some(prefix) = text("generateName") {
        complain("generateName", prefix, path_segment_prefix(prefix));
    }
    if let Some(name) = text("name") {
        complain("name", name, path_segment(name));
    }
    if let Some(namespace) = text("namespace") {
        complain("namespace", namespace, dns_label(namespace));
    }
    for (key, value) in entries(metadata, "labels") {
        complain("labels", key, qualified_name(key));
        complain("labels", value, label_value(value));
    }
    for (key, _) in entries(metadata, "annotations") {
        complain("annotations", key, caseless_qualified_name(key));
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
