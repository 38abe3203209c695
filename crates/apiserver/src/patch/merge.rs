//! RFC 7386 as Kubernetes applies it: where there was no object before, nulls are dropped from the patch even inside
//! lists.

use serde_json::{Map, Value};

use super::{Form, mismatch};
use crate::status::Status;

pub fn merge(object: Value, patch: &Value) -> Result<Value, Status> {
    match patch {
        Value::Object(_) => Ok(merged(object, patch)),
        Value::Null => Err(Status::bad_request("Invalid JSON Patch")),
        other => Err(mismatch(Form::Merge, other, "value of type map[string]interface {}")),
    }
}

fn merged(current: Value, patch: &Value) -> Value {
    match (current, patch) {
        (Value::Object(mut fields), Value::Object(patch)) => {
            merge_fields(&mut fields, patch);
            fields.into()
        }
        (Value::Object(_), patch) => patch.clone(),
        (_, patch) => without_nulls(patch),
    }
}

fn merge_fields(fields: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, value) in patch {
        let current = fields.remove(name).unwrap_or_default();
        if !value.is_null() {
            fields.insert(name.clone(), merged(current, value));
        }
    }
}

/// Fields that are null go; items that are null stay.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            fields.map(|(name, value)| (name.clone(), without_nulls(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}
