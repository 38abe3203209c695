//! Where two answers differ, as pointers with what was expected there and what came.

use std::fmt;

use serde_json::Value;

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
        writeln!(formatter, "    at {}", self.at)?;
        writeln!(formatter, "      expected {}", said(&self.expected))?;
        write!(formatter, "      got      {}", said(&self.got))
    }
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
