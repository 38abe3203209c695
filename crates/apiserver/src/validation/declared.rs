//! Values as Kubernetes' server shows them inside messages: as JSON of the types it works with, whose fields have other
//! names than on the wire, stand in the order of their declaration and are never left out. The types are data.

use std::collections::HashMap;
use std::sync::OnceLock;

use asb_types::quantity::Quantity;
use serde_json::Value;

/// One line for each type: its fields, as `Shown:wire:type`. A question mark after the name shown means that the field is
/// left out when it is empty; a wire name with a slash is a path.
const LAYOUTS: &str = include_str!("declared/layouts.txt");

struct Field {
    shown: &'static str,
    pointer: String,
    kind: &'static str,
    omitted_when_empty: bool,
}

/// JSON whose fields have an order.
enum Shown {
    Plain(String),
    List(Vec<Shown>),
    Object(Vec<(String, Shown)>),
}

/// A value of a declared type, such as `Taint` or `[]OwnerReference`, on one line.
pub(super) fn shown(kind: &str, value: &Value) -> String {
    let mut text = String::new();
    of(kind, value).write(&mut text);
    text
}

/// The same on many lines, as differences are computed from.
pub(super) fn lines(kind: &str, value: &Value) -> Vec<String> {
    let mut lines = vec![String::new()];
    of(kind, value).write_lines(&mut lines, 0);
    lines
}

fn of(kind: &str, value: &Value) -> Shown {
    let plain = |text: &str| Shown::Plain(text.to_owned());
    if let Some(kind) = kind.strip_prefix('*') {
        return if value.is_null() { plain("null") } else { of(kind, value) };
    }
    if let Some(kind) = kind.strip_prefix("[]") {
        return value
            .as_array()
            .map_or(plain("null"), |items| Shown::List(items.iter().map(|it| of(kind, it)).collect()));
    }
    if let Some(kind) = kind.strip_prefix("{}") {
        let entry = |(key, value): (&String, &Value)| (key.clone(), of(kind, value));
        return value.as_object().map_or(plain("null"), |map| Shown::Object(map.iter().map(entry).collect()));
    }
    match kind {
        "text" => Shown::Plain(quoted(value.as_str().unwrap_or_default())),
        "flag" => Shown::Plain(value.as_bool().unwrap_or_default().to_string()),
        "number" => Shown::Plain(if value.is_number() { value.to_string() } else { "0".into() }),
        "quantity" => Shown::Plain(quoted(&Quantity::read(value).unwrap_or_default().to_string())),
        "port" if value.is_null() => plain("0"),
        "any" | "time" | "port" => {
            value.as_str().map_or_else(|| plain(&value.to_string()), |text| plain(&quoted(text)))
        }
        declared => object(declared, value),
    }
}

fn object(kind: &str, value: &Value) -> Shown {
    let fields = layouts().get(kind).into_iter().flatten();
    let shown = fields.filter_map(|field| {
        let value = value.pointer(&field.pointer).unwrap_or(&Value::Null);
        let omitted = field.omitted_when_empty && is_empty(value);
        (!omitted).then(|| (field.shown.to_owned(), of(field.kind, value)))
    });
    Shown::Object(shown.collect())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Bool(_) => false,
    }
}

fn layouts() -> &'static HashMap<&'static str, Vec<Field>> {
    static LAYOUTS_READ: OnceLock<HashMap<&str, Vec<Field>>> = OnceLock::new();
    LAYOUTS_READ.get_or_init(|| {
        let split = LAYOUTS.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
        split.map(|(kind, fields)| (kind, fields.split(' ').filter_map(Field::read).collect())).collect()
    })
}

impl Field {
    fn read(text: &'static str) -> Option<Self> {
        let (shown, rest) = text.split_once(':')?;
        let (wire, kind) = rest.split_once(':')?;
        let name = shown.strip_suffix('?');
        let omitted_when_empty = name.is_some();
        Some(Self { shown: name.unwrap_or(shown), pointer: format!("/{wire}"), kind, omitted_when_empty })
    }
}

impl Shown {
    fn write(&self, text: &mut String) {
        match self {
            Self::Plain(plain) => text.push_str(plain),
            Self::List(items) => {
                text.push('[');
                for (index, item) in items.iter().enumerate() {
                    text.push_str(if index > 0 { "," } else { "" });
                    item.write(text);
                }
                text.push(']');
            }
            Self::Object(fields) => {
                text.push('{');
                for (index, (name, value)) in fields.iter().enumerate() {
                    text.push_str(if index > 0 { "," } else { "" });
                    text.push_str(&quoted(name));
                    text.push(':');
                    value.write(text);
                }
                text.push('}');
            }
        }
    }

    /// Appends to the last line and adds further ones, each indented by a space for each level.
    fn write_lines(&self, lines: &mut Vec<String>, level: usize) {
        let (open, close, count) = match self {
            Self::Plain(plain) => return append(lines, plain),
            Self::List(items) => ("[", "]", items.len()),
            Self::Object(fields) => ("{", "}", fields.len()),
        };
        append(lines, open);
        for index in 0..count {
            lines.push(" ".repeat(level + 1));
            match self {
                Self::List(items) => items[index].write_lines(lines, level + 1),
                Self::Object(fields) => {
                    append(lines, &format!("{}: ", quoted(&fields[index].0)));
                    fields[index].1.write_lines(lines, level + 1);
                }
                Self::Plain(_) => {}
            }
            append(lines, if index + 1 < count { "," } else { "" });
        }
        if count > 0 {
            lines.push(" ".repeat(level));
        }
        append(lines, close);
    }
}

fn append(lines: &mut [String], text: &str) {
    if let Some(last) = lines.last_mut() {
        last.push_str(text);
    }
}

/// JSON that can stand in HTML, as Go writes it.
fn quoted(text: &str) -> String {
    let json = Value::from(text).to_string();
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_shown_in_their_order_and_none_is_left_out() {
        let taint = json!({"effect": "NoSchedule", "key": "a<b"});
        let expected = r#"{"Key":"a\u003cb","Value":"","Effect":"NoSchedule","TimeAdded":null}"#;
        assert_eq!(shown("Taint", &taint), expected);
    }

    #[test]
    fn types_that_are_the_same_on_the_wire_leave_out_what_is_empty() {
        let selector = json!({"matchExpressions": [{"key": "a", "operator": "Exists"}], "matchLabels": {}});
        assert_eq!(
            shown("LabelSelector", &selector),
            r#"{"matchExpressions":[{"key":"a","operator":"Exists"}]}"#
        );
    }

    #[test]
    fn every_type_that_a_layout_mentions_has_a_layout_of_its_own() {
        let known = ["text", "flag", "number", "quantity", "time", "port", "any"];
        for field in layouts().values().flatten() {
            let kind = field.kind.trim_start_matches(['*', '[', ']', '{', '}']);
            assert!(known.contains(&kind) || layouts().contains_key(kind), "{kind} is not declared");
        }
    }

    #[test]
    fn lines_are_indented_by_one_space() {
        let expected = ["[", " {", "  \"IP\": \"10.0.0.1\"", " }", "]"];
        assert_eq!(lines("[]PodIP", &json!([{"ip": "10.0.0.1"}])), expected);
        assert_eq!(lines("[]PodIP", &json!([])), ["[]"]);
    }
}
