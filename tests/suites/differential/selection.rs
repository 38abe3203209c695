//! Cuts an answer down to the part a step compares, where the rest depends on what else a server serves.

use serde_json::{Map, Value, json};

use crate::case::{Keep, Selection};
use crate::order::sort_causes;

pub(crate) fn apply(selection: &Selection, answer: &mut Value) {
    let Some(body) = answer.get_mut("body") else { return };
    if selection.unordered {
        sort_causes(body);
    }
    for keep in &selection.keep {
        at(body, &tokens(&keep.list), &mut |list| retain(list, keep));
    }
    for pointer in &selection.mask {
        at(body, &tokens(pointer), &mut |value| *value = json!(format!("<{}>", type_of(value))));
    }
    if !selection.only.is_empty() {
        let picked = |pointer: &String| Some((pointer.clone(), body.pointer(pointer)?.clone()));
        *body = Value::Object(selection.only.iter().filter_map(picked).collect::<Map<_, _>>());
    }
}

fn retain(list: &mut Value, keep: &Keep) {
    let name = |item: &Value| item.pointer(&keep.by).and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Value::Array(items) = list {
        items.retain(|item| keep.values.contains(&name(item)));
        if keep.sorted {
            items.sort_by_key(name);
        }
    }
    if let Value::Object(fields) = list {
        fields.retain(|key, _| keep.values.contains(key));
    }
}

fn tokens(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect()
}

/// Visits every place a pointer with `*` leads to.
fn at(value: &mut Value, tokens: &[String], visit: &mut impl FnMut(&mut Value)) {
    let Some((token, rest)) = tokens.split_first() else { return visit(value) };
    match value {
        Value::Array(items) if token == "*" => items.iter_mut().for_each(|item| at(item, rest, visit)),
        Value::Object(fields) if token == "*" => {
            fields.values_mut().for_each(|field| at(field, rest, visit));
        }
        Value::Array(items) => {
            if let Some(item) = token.parse().ok().and_then(|index: usize| items.get_mut(index)) {
                at(item, rest, visit);
            }
        }
        Value::Object(fields) => {
            if let Some(field) = fields.get_mut(token) {
                at(field, rest, visit);
            }
        }
        _ => {}
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}
