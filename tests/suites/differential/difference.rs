//! Where two answers differ, as pointers with what was expected there and what came.

use std::fmt;

use serde_json::Value;

/// What is shown of a long value, and how much of it before the first difference, in characters.
const SHORT: usize = 300;
const BEFORE: usize = 60;

pub(crate) struct Difference {
    pub at: String,
    expected: Option<Value>,
    got: Option<Value>,
}

pub(crate) fn differences(expected: &Value, got: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(String::new(), Some(expected), Some(got), &mut found);
    found
}

fn compare(at: String, expected: Option<&Value>, got: Option<&Value>, found: &mut Vec<Difference>) {
    match (expected, got) {
        (Some(Value::Object(expected)), Some(Value::Object(got))) => {
            let added = got.keys().filter(|key| !expected.contains_key(*key));
            for key in expected.keys().chain(added) {
                compare(below(&at, key), expected.get(key), got.get(key), found);
            }
        }
        (Some(Value::Array(expected)), Some(Value::Array(got))) => {
            for index in 0..expected.len().max(got.len()) {
                compare(format!("{at}/{index}"), expected.get(index), got.get(index), found);
            }
        }
        (expected, got) if expected == got => {}
        (expected, got) => found.push(Difference { at, expected: expected.cloned(), got: got.cloned() }),
    }
}

fn below(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said =
            |value: &Option<Value>| value.as_ref().map_or_else(|| "(absent)".to_owned(), Value::to_string);
        let (expected, got) = (said(&self.expected), said(&self.got));
        let same = expected.chars().zip(got.chars()).take_while(|(one, other)| one == other).count();
        writeln!(formatter, "    at {}", self.at)?;
        writeln!(formatter, "      expected {}", around(&expected, same))?;
        write!(formatter, "      got      {}", around(&got, same))
    }
}

/// The part of a long text in which it begins to differ.
fn around(text: &str, same: usize) -> String {
    let start = if text.len() > SHORT { same.saturating_sub(BEFORE) } else { 0 };
    let part: String = text.chars().skip(start).take(SHORT).collect();
    let more = |is_more| if is_more { "…" } else { "" };
    format!("{}{part}{}", more(start > 0), more(text.chars().count() > start + SHORT))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::differences;

    #[test]
    fn only_what_differs_is_named() {
        let found =
            differences(&json!({"a": [1, 2], "b/c": null, "d": 1}), &json!({"a": [1], "b/c": 0, "d": 1}));
        let places: Vec<_> = found.iter().map(|difference| difference.at.as_str()).collect();
        assert_eq!(places, ["/a/1", "/b~1c"]);
    }
}
