//! Reads fields of objects that may lack them, beyond what [`crate::pointer`] does for everybody.

use std::slice;

use serde_json::{Map, Value};

use crate::pointer::list;
pub(super) use crate::pointer::text;

/// The text at a JSON pointer, or what is printed instead of it.
pub(super) fn text_or<'a>(object: &'a Value, pointer: &str, otherwise: &'a str) -> &'a str {
    match text(object, pointer) {
        "" => otherwise,
        text => text,
    }
}

pub(super) fn integer(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

pub(super) fn flag(object: &Value, pointer: &str) -> bool {
    object.pointer(pointer).and_then(Value::as_bool).unwrap_or_default()
}

pub(super) fn items<'a>(object: &'a Value, pointer: &str) -> slice::Iter<'a, Value> {
    list(object, pointer).iter()
}

pub(super) fn fields<'a>(object: &'a Value, pointer: &str) -> Option<&'a Map<String, Value>> {
    object.pointer(pointer).and_then(Value::as_object)
}

pub(super) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

pub(super) fn is_being_deleted(object: &Value) -> bool {
    !text(object, "/metadata/deletionTimestamp").is_empty()
}

/// The first few of many, as `a,b,c + 2 more...`.
pub(super) fn first_three(all: impl Iterator<Item = String>) -> String {
    const SHOWN: usize = 3;
    let (mut shown, mut more) = (Vec::with_capacity(SHOWN), 0);
    for (index, text) in all.enumerate() {
        if index < SHOWN {
            shown.push(text);
        } else {
            more += 1;
        }
    }
    match more {
        0 => shown.join(","),
        more => format!("{} + {more} more...", shown.join(",")),
    }
}
