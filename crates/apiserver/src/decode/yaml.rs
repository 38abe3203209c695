//! Reads YAML into the JSON that it stands for, by the rules of YAML 1.1 that Kubernetes' clients rely on: `yes` and `on`
//! are booleans, `012` is octal, keys that are no text become text. Aliases cannot make it large: what they repeat is
//! counted against a budget.

use std::cell::RefCell;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Options, Spanned};

use super::problem::Problem;
use super::{Limits, Parsed};
use crate::field::Quoted;

/// The reader of YAML takes much of the stack for each level.
const MOST_DEPTH: usize = 64;
const MOST_DUPLICATES: usize = 100;

/// Only the first document counts, and one that is empty is nothing.
pub(super) fn parse(bytes: &[u8], limits: Limits) -> Result<Parsed, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "yaml: invalid leading UTF-8 octet".to_owned())?;
    let duplicates = RefCell::default();
    let read =
        |reader: serde_saphyr::Deserializer<'_, '_>| Node { duplicates: &duplicates }.deserialize(reader);
    let document = first_document(text);
    let object = if is_blank(document) {
        Value::Null
    } else {
        serde_saphyr::with_deserializer_from_str_with_options(document, options(limits), read)
            .map_err(|error| described(&error))?
    };
    let lines = duplicates.into_inner();
    let duplicates = if lines.is_empty() { vec![] } else { vec![Problem::Keys(lines)] };
    Ok(Parsed { object, duplicates })
}

fn options(limits: Limits) -> Options {
    let depth = limits.depth.min(MOST_DEPTH);
    let budget = serde_saphyr::budget! {
        max_depth: depth,
        flow_nesting_limit: depth,
        max_nodes: limits.values,
        max_events: limits.values.saturating_mul(4),
    };
    let alias_limits = serde_saphyr::alias_limits! { max_total_replayed_events: limits.values };
    serde_saphyr::options! {
        budget: budget,
        alias_limits: alias_limits,
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        legacy_octal_numbers: true,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        with_snippet: false,
    }
}

/// The text up to the mark that ends the first document.
fn first_document(text: &str) -> &str {
    let mut started = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let word = line.trim_end();
        let marks = |mark: &str| {
            word.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
        };
        if started && (marks("---") || marks("...")) {
            return &text[..at];
        }
        started |= !is_blank(line) && !line.starts_with('%');
        at += line.len();
    }
    text
}

fn is_blank(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    lines.all(|line| line.is_empty() || line.starts_with('#') || line == "---")
}

/// The line comes first, as clients know it, not last.
fn described(error: &serde_saphyr::Error) -> String {
    let text = error.to_string();
    match error.location() {
        Some(location) if location.line() > 0 => {
            let place = format!(" at line {}, column {}", location.line(), location.column());
            format!("yaml: line {}: {}", location.line(), text.trim_end_matches(&place))
        }
        _ => format!("yaml: {text}"),
    }
}

/// Reads any value; keys that come twice are noted.
#[derive(Clone, Copy)]
struct Node<'a> {
    duplicates: &'a RefCell<Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value that JSON can hold")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        super::whole(value)
            .or_else(|| Number::from_f64(value))
            .map(Value::Number)
            .ok_or_else(|| E::custom(format!("json: unsupported value: {value}")))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(Spanned { value: Key(key), referenced, .. }) = entries.next_key()? {
            let value = entries.next_value_seed(self)?;
            let mut duplicates = self.duplicates.borrow_mut();
            if fields.contains_key(&key) && duplicates.len() < MOST_DUPLICATES {
                duplicates.push(format!(
                    "line {}: key {} already set in map",
                    referenced.line(),
                    Quoted(&key)
                ));
            }
            fields.insert(key, value);
        }
        Ok(fields.into())
    }
}

/// A key: any scalar, as text.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let duplicates = RefCell::default();
        match deserializer.deserialize_any(Node { duplicates: &duplicates })? {
            Value::String(text) => Ok(Key(text)),
            scalar @ (Value::Bool(_) | Value::Number(_)) => Ok(Key(scalar.to_string())),
            _ => Err(D::Error::custom("unsupported map key")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Value {
        parse(text.as_bytes(), Limits::default()).unwrap().object
    }

    /// Recorded from `sigs.k8s.io/yaml`, which the real server reads YAML with.
    #[test]
    fn plain_words_are_what_yaml_1_1_makes_of_them() {
        let cases = [
            ("yes", json!(true)),
            ("y", json!(true)),
            ("off", json!(false)),
            ("~", json!(null)),
            ("null", json!(null)),
            ("012", json!(10)),
            ("0x1f", json!(31)),
            ("1_000", json!(1000)),
            ("1.0", json!(1)),
            ("1.5", json!(1.5)),
            ("1e3", json!(1000)),
            ("\"1\"", json!("1")),
            ("2024-01-01", json!("2024-01-01")),
            ("1:30", json!("1:30")),
            ("9223372036854775807", json!(9_223_372_036_854_775_807_i64)),
            ("0o14", json!(12)),
            ("1.", json!(1)),
        ];
        for (text, expected) in cases {
            assert_eq!(read(&format!("a: {text}")), json!({"a": expected}), "{text}");
        }
    }

    #[test]
    fn keys_are_text_whatever_they_look_like() {
        assert_eq!(read("{1: a, true: b, on: c, 1.5: d}"), json!({"1": "a", "true": "c", "1.5": "d"}));
    }

    #[test]
    fn only_the_first_document_counts() {
        assert_eq!(read("# text\n---\na: 1\n---\nb: ["), json!({"a": 1}));
        assert_eq!(read("a: |\n  --- x\n...\nb: 1"), json!({"a": "--- x\n"}));
        assert_eq!(read("---\n"), json!(null));
        assert_eq!(read(""), json!(null));
    }

    #[test]
    fn a_key_that_comes_twice_is_reported_with_its_line() {
        let parsed = parse(b"a: 1\nb:\n  c: 1\n  c: 2\na: 3\n", Limits::default()).unwrap();
        assert_eq!(parsed.object, json!({"a": 3, "b": {"c": 2}}));
        let lines = ["line 4: key \"c\" already set in map", "line 5: key \"a\" already set in map"];
        assert_eq!(parsed.duplicates, [Problem::Keys(lines.map(str::to_owned).to_vec())]);
    }

    #[test]
    fn aliases_and_merges_work_and_bombs_do_not() {
        assert_eq!(
            read("a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}"),
            json!({"a": {"b": 1}, "c": {"b": 1}, "d": {"b": 1, "e": 2}})
        );
        let level = |level: usize| {
            format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 10].join(", "))
        };
        let bomb =
            "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned() + &(1..9).map(level).collect::<String>();
        assert!(parse(bomb.as_bytes(), Limits::default()).unwrap_err().starts_with("yaml: "));
        assert!(parse("[".repeat(100_000).as_bytes(), Limits::default()).is_err());
        assert!(parse("- ".repeat(100_000).as_bytes(), Limits::default()).is_err());
    }
}
