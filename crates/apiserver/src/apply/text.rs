//! Values as the messages and `fieldsV1` of Kubernetes spell them, which is as Go prints them.

use serde_json::{Number, Value};

use crate::field::Quoted;

/// As a step of a path shows a value.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => printed_number(number),
        Value::String(text) => Quoted(text).to_string(),
        Value::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| [name, "=", &shown(value)].concat())
            .collect::<Vec<_>>()
            .concat(),
    }
}

/// As `%v` prints a value.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => printed_number(number),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}:{}", plain(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

/// As `%#v` prints a value.
pub(super) fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => printed_number(number),
        Value::String(text) => Quoted(text).to_string(),
        Value::Array(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(syntax).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{}:{}", Quoted(name), syntax(value))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
    }
}

/// The type that `%T` names.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// As Go's encoder writes JSON: characters that mean something to HTML are escaped, whole numbers have no fraction.
pub(super) fn json(value: &Value) -> String {
    match value {
        Value::String(text) => json_string(text),
        Value::Number(number) => json_number(number),
        Value::Array(items) => format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{}:{}", json_string(name), json(value))).collect();
            format!("{{{}}}", fields.join(","))
        }
        other => other.to_string(),
    }
}

fn json_string(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 2);
    for character in Value::from(text).to_string().chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                written.extend(format!("\\u{:04x}", character as u32).chars());
            }
            other => written.push(other),
        }
    }
    written
}

fn json_number(number: &Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) if float != 0.0 && !(1e-6..1e21).contains(&float.abs()) => {
            let written = format!("{float:e}");
            if written.contains("e-") { written } else { written.replace('e', "e+") }
        }
        Some(float) => float.to_string(),
        None => number.to_string(),
    }
}

/// `%v` of a float has an exponent of two digits from a million on, and below a ten-thousandth.
fn printed_number(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else { return number.to_string() };
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => float.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_printed_as_go_does() {
        let value = json!({"a": [1, "b", null, true], "c": 1.5});
        assert_eq!(plain(&value), "map[a:[1 b <nil> true] c:1.5]");
        let expected =
            r#"map[string]interface {}{"a":[]interface {}{1, "b", interface {}(nil), true}, "c":1.5}"#;
        assert_eq!(syntax(&value), expected);
        assert_eq!(shown(&value), r#"a=[1,"b",null,true]c=1.5"#);
    }

    #[test]
    fn json_is_written_as_go_does() {
        assert_eq!(
            json(&json!({"<": [1.0, 2.5, 1e21, 1e-7, "a&b"]})),
            r#"{"\u003c":[1,2.5,1e+21,1e-7,"a\u0026b"]}"#
        );
    }
}
