//! Reading and changing fields of objects that may be anything. Where something has the wrong type nothing happens:
//! validation refuses it. Places are JSON pointers.

use serde_json::{Map, Value};

/// Empty where there is no text.
pub(crate) fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

/// Empty where there is no list.
pub(crate) fn list<'a>(object: &'a Value, at: &str) -> &'a [Value] {
    object.pointer(at).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(crate) fn list_mut<'a>(object: &'a mut Value, at: &str) -> &'a mut [Value] {
    object.pointer_mut(at).and_then(Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice)
}

/// The value of a field that is there and not null.
pub(crate) fn said<'a>(object: &'a Value, at: &str) -> Option<&'a Value> {
    object.pointer(at).filter(|value| !value.is_null())
}

/// Makes the objects on the way where there are none.
pub(crate) fn set(object: &mut Value, at: &str, value: impl Into<Value>) {
    if let Some(field) = field_mut(object, at) {
        *field = value.into();
    }
}

/// Makes the list, and the objects on the way, where there are none.
pub(crate) fn push(object: &mut Value, at: &str, item: impl Into<Value>) {
    let Some(list) = field_mut(object, at) else { return };
    if list.is_null() {
        *list = Value::Array(Vec::new());
    }
    if let Some(list) = list.as_array_mut() {
        list.push(item.into());
    }
}

pub(crate) fn remove(object: &mut Value, at: &str) -> Option<Value> {
    let (parent, field) = at.rsplit_once('/')?;
    object.pointer_mut(parent)?.as_object_mut()?.remove(&unescaped(field))
}

/// Makes a field what it is in another object: the same value, or missing.
pub(crate) fn copy(new: &mut Value, old: &Value, at: &str) {
    match old.pointer(at) {
        Some(value) => set(new, at, value.clone()),
        None => drop(remove(new, at)),
    }
}

fn field_mut<'a>(object: &'a mut Value, at: &str) -> Option<&'a mut Value> {
    at.split('/').skip(1).try_fold(object, |object, field| {
        if object.is_null() {
            *object = Value::Object(Map::new());
        }
        Some(object.as_object_mut()?.entry(unescaped(field)).or_insert(Value::Null))
    })
}

/// A name as it stands in a pointer.
pub(crate) fn escaped(field: &str) -> String {
    field.replace('~', "~0").replace('/', "~1")
}

/// The name that stands in a pointer.
pub(crate) fn unescaped(field: &str) -> String {
    field.replace("~1", "/").replace("~0", "~")
}
