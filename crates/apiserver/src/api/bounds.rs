//! How large and how deep an object may become. A body is bounded when it is read; what patch after patch makes of an
//! object is bounded here, before it is written.

use serde_json::Value;

use crate::status::Status;

/// Of text, in all keys and values; etcd takes a little less.
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// About what a value costs beside its text.
const VALUE: usize = 4;

/// What clients written in Rust can read is not deeper than 127.
const DEEPEST: usize = 120;

/// Refuses what must not be stored, in the words in which etcd refuses it.
pub(super) fn check(object: &Value) -> Result<(), Status> {
    match size(object, MOST_BYTES, DEEPEST) {
        Some(_) => Ok(()),
        None => Err(Status::unexplained("etcdserver: request is too large")),
    }
}

/// The size of a value, unless it is more than `most` or deeper than `deepest`.
fn size(value: &Value, most: usize, deepest: usize) -> Option<usize> {
    let room = most.checked_sub(VALUE)?;
    let left = match value {
        Value::String(text) => room.checked_sub(text.len())?,
        Value::Array(items) => items.iter().try_fold(room, |left, item| inside(item, left, deepest))?,
        Value::Object(fields) => fields
            .iter()
            .try_fold(room, |left, (name, value)| inside(value, left.checked_sub(name.len())?, deepest))?,
        _ => room,
    };
    Some(most - left)
}

/// What is left of the room behind a value that is one level deeper.
fn inside(value: &Value, room: usize, deepest: usize) -> Option<usize> {
    Some(room - size(value, room, deepest.checked_sub(1)?)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!("x"), |inner, _| json!([inner]))
    }

    #[test]
    fn what_clients_could_not_read_is_not_stored() {
        let deepest = nested(DEEPEST);
        assert_eq!(check(&deepest), Ok(()));
        assert_eq!(serde_json::from_str::<Value>(&deepest.to_string()).unwrap(), deepest);
        assert!(check(&nested(DEEPEST + 1)).is_err());
    }

    #[test]
    fn an_object_is_as_large_as_its_parts_together() {
        assert_eq!(size(&json!({"key": ["text", 1]}), 100, 9), Some(3 + 4 + 4 * VALUE));
        assert_eq!(size(&json!({"key": ["text", 1]}), 22, 9), None);
        let half = "x".repeat(MOST_BYTES / 2);
        assert!(check(&json!([half])).is_ok());
        assert!(check(&json!([half, half])).is_err());
        assert!(check(&json!({half.as_str(): half})).is_err());
    }
}
