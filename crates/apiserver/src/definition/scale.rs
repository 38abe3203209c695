//! The numbers that make an object one that can be scaled.

use serde_json::Value;

use super::reading::text;
use crate::field::{Error, shown_float};
use crate::go;

/// Where a scale finds its numbers: paths such as `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    pub spec_replicas: String,
    pub status_replicas: String,
    pub label_selector: Option<String>,
}

impl Scale {
    pub(super) fn read(scale: &Value) -> Option<Self> {
        scale.is_object().then(|| Self {
            spec_replicas: text(scale, "specReplicasPath").into(),
            status_replicas: text(scale, "statusReplicasPath").into(),
            label_selector: scale["labelSelectorPath"].as_str().map(str::to_owned),
        })
    }

    /// What is wrong with the numbers of an object.
    pub(super) fn validate(&self, object: &Value) -> Vec<Error> {
        let spec = replicas(object, &self.spec_replicas);
        spec.into_iter().chain(self.validate_status(object)).collect()
    }

    pub(super) fn validate_status(&self, object: &Value) -> Vec<Error> {
        let status = replicas(object, &self.status_replicas);
        let selector = self.label_selector.as_ref().and_then(|path| {
            let why = find(object, path, "string", Value::is_string).err()?;
            Some(Error::invalid(path.as_str(), "", why))
        });
        status.into_iter().chain(selector).collect()
    }
}

fn replicas(object: &Value, path: &str) -> Option<Error> {
    let count = match find(object, path, "int64", Value::is_i64) {
        Ok(found) => found.and_then(Value::as_i64).unwrap_or_default(),
        Err(why) => return Some(Error::invalid(path, 0, why)),
    };
    let most = i64::from(i32::MAX);
    match count {
        ..0 => Some(Error::invalid(path, count, "should be a non-negative integer")),
        count if count > most => {
            Some(Error::invalid(path, count, format!("should be less than or equal to {most}")))
        }
        _ => None,
    }
}

/// The value at a path, if any; an error where something of another type is in the way.
fn find<'a>(
    object: &'a Value,
    path: &str,
    wanted: &str,
    is_wanted: fn(&Value) -> bool,
) -> Result<Option<&'a Value>, String> {
    let error = |value: &Value, wanted: &str| {
        let (shown, found) = (shown(value), go::type_of(value));
        format!("{path} accessor error: {shown} is of the type {found}, expected {wanted}")
    };
    let mut value = object;
    for name in path.trim_start_matches('.').split('.') {
        let Value::Object(fields) = value else { return Err(error(value, "map[string]interface{}")) };
        let Some(inside) = fields.get(name) else { return Ok(None) };
        value = inside;
    }
    if is_wanted(value) { Ok(Some(value)) } else { Err(error(value, wanted)) }
}

/// As Go's `%v` shows a value.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => shown_float(number.as_f64().unwrap_or_default()),
        Value::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}:{}", shown(value)));
            format!("map[{}]", fields.collect::<Vec<_>>().join(" "))
        }
        plain => plain.to_string(),
    }
}
