//! RFC 6902 as Kubernetes applies it: `replace` also adds a field, a missing field reads as null, a negative index
//! counts from the end, and whatever stands before the first slash of a path is ignored.

mod document;

use serde_json::Value;

use super::{Form, mismatch, rejected};
use crate::status::Status;
use document::Document;

/// How many operations one patch may have.
const MOST_OPERATIONS: usize = 10_000;

const FIELDS: [&str; 4] = ["op", "path", "from", "value"];

/// One operation. A field that is null is as good as absent.
struct Operation<'a> {
    kind: &'a str,
    path: Option<&'a str>,
    from: Option<&'a str>,
    value: &'a Value,
}

/// Applies all operations, or none.
pub fn json(object: Value, patch: &Value) -> Result<Value, Status> {
    let operations = operations(patch)?;
    if operations.len() > MOST_OPERATIONS {
        let count = operations.len();
        return Err(Status::too_large(&format!(
            "The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {count}"
        )));
    }
    let mut document = Document::new(object);
    for operation in &operations {
        apply(operation, &mut document).ok_or_else(rejected)?;
    }
    document.finish().ok_or_else(rejected)
}

/// Fields that no operation has, as strict field validation names them.
pub fn unknown_fields(patch: &Value) -> Vec<String> {
    let operations = patch.as_array().into_iter().flatten().enumerate();
    let fields = operations.filter_map(|(index, operation)| Some((index, operation.as_object()?)));
    fields
        .flat_map(|(index, fields)| fields.keys().map(move |name| (index, name)))
        .filter(|(_, name)| !FIELDS.contains(&name.as_str()))
        .map(|(index, name)| format!("json patch unknown field \"[{index}].{name}\""))
        .collect()
}

fn operations(patch: &Value) -> Result<Vec<Operation<'_>>, Status> {
    match patch {
        Value::Null => Ok(Vec::new()),
        Value::Array(operations) => operations.iter().map(operation).collect(),
        other => Err(mismatch(Form::Json, other, "value of type []handlers.jsonPatchOp")),
    }
}

fn operation(operation: &Value) -> Result<Operation<'_>, Status> {
    if !matches!(operation, Value::Null | Value::Object(_)) {
        return Err(mismatch(Form::Json, operation, "value of type handlers.jsonPatchOp"));
    }
    let text = |name: &str| match operation.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(other) => {
            Err(mismatch(Form::Json, other, &format!("struct field jsonPatchOp.{name} of type string")))
        }
    };
    Ok(Operation {
        kind: text("op")?.unwrap_or_default(),
        path: text("path")?,
        from: text("from")?,
        value: operation.get("value").unwrap_or(&Value::Null),
    })
}

fn apply(operation: &Operation<'_>, document: &mut Document) -> Option<()> {
    let path = operation.path?;
    match operation.kind {
        "add" => document.add(path, operation.value.clone()),
        "remove" => document.remove(path).map(drop),
        "replace" => document.replace(path, operation.value.clone()),
        "move" => document.relocate(operation.from?, path),
        "copy" => document.copy(operation.from?, path),
        "test" => document.holds(path, operation.value).then_some(()),
        _ => None,
    }
}
