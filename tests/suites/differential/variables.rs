//! Variables: `$name` in what a step says stands for a name made for the run or a value from an earlier answer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

#[derive(Clone, Default)]
pub(crate) struct Variables(BTreeMap<String, Value>);

impl Variables {
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// The text with every known variable filled in; the longest name wins, and unknown ones stay, since Kubernetes
    /// has words of its own that begin like that.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            filled.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let known = self.0.iter().rev().find(|(name, _)| rest.starts_with(name.as_str()));
            if let Some((name, value)) = known {
                filled.push_str(&plain(value));
                rest = &rest[name.len()..];
            } else {
                filled.push('$');
            }
        }
        filled + rest
    }

    /// The same for every text in a value; a text that is one variable takes over its type.
    pub(crate) fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let whole = text.strip_prefix('$').and_then(|name| self.0.get(name));
                whole.cloned().unwrap_or_else(|| Value::String(self.fill(text)))
            }
            Value::Array(items) => items.iter().map(|item| self.fill_value(item)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(key, field)| (self.fill(key), self.fill_value(field))).collect()
            }
            other => other.clone(),
        }
    }
}

/// A name nobody else has, of always the same length so that orders and lengths do not depend on it.
pub(crate) fn unique_name() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_micros();
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("case-{:010x}-{count:04x}", now & 0xff_ffff_ffff)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Variables;

    #[test]
    fn the_longest_name_wins_and_unknown_ones_stay() {
        let mut variables = Variables::default();
        variables.set("ns", json!("one"));
        variables.set("nsother", json!("two"));
        variables.set("count", json!(3));
        assert_eq!(variables.fill("/$ns/$nsother/$patch"), "/one/two/$patch");
        assert_eq!(variables.fill_value(&json!({"$ns": ["$count", "n$count"]})), json!({"one": [3, "n3"]}));
    }
}
