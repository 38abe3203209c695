//! Cuts an answer down to the part a step compares, where the rest depends on what else a server serves.

use serde_json::{Map, Value, json};

use crate::case::{Keep, Selection};
use crate::order::sort_causes;
use crate::variables::Variables;

pub(crate) fn apply(selection: &Selection, variables: &Variables, answer: &mut Value) {
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
    for pointer in &selection.first_line {
        at(body, &tokens(pointer), &mut keep_first_line);
    }
    if !selection.only.is_empty() {
        let picked =
            |pointer: &String| Some((pointer.clone(), body.pointer(&variables.fill(pointer))?.clone()));
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

fn keep_first_line(value: &mut Value) {
    if let Some((first, _)) = value.as_str().and_then(|text| text.split_once('\n')) {
        *value = json!(format!("{first}…"));
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::apply;
    use crate::variables::Variables;

    fn selected(selection: Value, body: Value) -> Value {
        let mut answer = json!({"body": body});
        let selection = serde_json::from_value(selection).expect("a selection");
        apply(&selection, &Variables::default(), &mut answer);
        answer["body"].take()
    }

    #[test]
    fn absent_fields_stay_absent() {
        let body = json!({"a": {"b": null}, "c": 1});
        assert_eq!(selected(json!({"only": ["/a/b", "/none"]}), body), json!({"/a/b": null}));
    }

    #[test]
    fn masks_reach_every_element_and_keep_the_type() {
        let body = json!({"items": [{"a": 1}, {"a": "x"}, {}]});
        let masked = json!({"items": [{"a": "<number>"}, {"a": "<text>"}, {}]});
        assert_eq!(selected(json!({"mask": ["/items/*/a"]}), body), masked);
    }

    #[test]
    fn first_lines_say_that_more_follows() {
        let selection = json!({"first_line": ["/a", "/b"]});
        assert_eq!(selected(selection, json!({"a": "x\ny", "b": "z"})), json!({"a": "x…", "b": "z"}));
    }

    #[test]
    fn lists_and_maps_keep_what_is_named() {
        let body = json!({"list": [{"n": "c"}, {"n": "b"}, {"n": "a"}], "map": {"a": 1, "d": 2}});
        let list = json!({"list": "/list", "by": "/n", "values": ["a", "c"], "sorted": true});
        let map = json!({"list": "/map", "by": "", "values": ["a"]});
        let kept = json!({"list": [{"n": "a"}, {"n": "c"}], "map": {"a": 1}});
        assert_eq!(selected(json!({"keep": [list, map]}), body), kept);
    }
}
