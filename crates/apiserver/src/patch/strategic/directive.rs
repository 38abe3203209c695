//! The words in a patch that are instructions rather than data.

use std::collections::HashSet;

use serde_json::Value;

use super::Fields;
use super::refusal::Refusal;

pub(super) const PATCH: &str = "$patch";
pub(super) const ORDER_PREFIX: &str = "$setElementOrder";
const DELETION_PREFIX: &str = "$deleteFromPrimitiveList";
const RETAIN_KEYS: &str = "$retainKeys";

/// What `$patch` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directive {
    Replace,
    Delete,
    Merge,
    Unknown,
}

impl Directive {
    pub(super) fn of(fields: &Fields) -> Option<Self> {
        Some(match fields.get(PATCH)?.as_str() {
            Some("replace") => Self::Replace,
            Some("delete") => Self::Delete,
            Some("merge") => Self::Merge,
            _ => Self::Unknown,
        })
    }
}

/// The list that `$deleteFromPrimitiveList/name` is about.
pub(super) fn deletion_target(name: &str) -> Result<Option<&str>, Refusal> {
    if !name.starts_with(DELETION_PREFIX) {
        return Ok(None);
    }
    target(name, DELETION_PREFIX).ok_or(Refusal::PrimitiveListFormat).map(Some)
}

/// The list that a directive beside it is about.
pub(super) fn target<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    name.strip_prefix(prefix)?.strip_prefix('/')
}

/// Drops what `$retainKeys` does not name. A patch that sets such a field contradicts itself.
pub(super) fn retain_keys(original: &mut Fields, patch: &mut Fields) -> Result<(), Refusal> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let keys = keys.as_array().ok_or(Refusal::RetainKeysFormat)?;
    let keys: HashSet<&str> = keys.iter().filter_map(Value::as_str).collect();
    let is_bound = |name: &str| !name.starts_with(DELETION_PREFIX) && !name.starts_with(ORDER_PREFIX);
    let mut set = patch.iter().filter(|(name, value)| !value.is_null() && is_bound(name));
    if set.any(|(name, _)| !keys.contains(name.as_str())) {
        return Err(Refusal::RetainKeysFormat);
    }
    original.retain(|name, _| keys.contains(name.as_str()));
    Ok(())
}

/// What is left of a value where there was nothing to merge it with: objects with a directive are gone.
pub(super) fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => None,
        Value::Object(fields) => {
            let fields =
                fields.into_iter().filter_map(|(name, value)| Some((name, without_directives(value)?)));
            Some(Value::Object(fields.collect()))
        }
        Value::Array(items) => Some(items.into_iter().filter_map(without_directives).collect()),
        other => Some(other),
    }
}

/// Fields that are null go; items that are null stay.
pub(super) fn without_nulls(mut value: Value) -> Value {
    discard_nulls(&mut value);
    value
}

fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}
