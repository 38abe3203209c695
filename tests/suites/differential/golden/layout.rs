//! JSON for people to review: what fits stands on one line, the rest on several.

use serde_json::Value;

const WIDTH: usize = 120;
/// A conversation reads better when the question comes before the answer.
const FIRST: &[&str] = &["request", "status", "headers"];

pub(super) fn lay_out(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, 0, &mut text);
    text.push('\n');
    text
}

/// `used` is what stands on the line already.
fn write(value: &Value, depth: usize, used: usize, text: &mut String) {
    let flat = flat(value);
    if depth > 2 && used + flat.len() < WIDTH {
        return text.push_str(&flat);
    }
    match value {
        Value::Array(items) if !items.is_empty() => {
            let parts = items.iter().map(|item| (String::new(), item));
            block(['[', ']'], parts, depth, text);
        }
        Value::Object(fields) if !fields.is_empty() => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| FIRST.iter().position(|first| first == key).unwrap_or(FIRST.len()));
            let parts =
                fields.iter().map(|(key, field)| (format!("{}: ", Value::from(key.as_str())), *field));
            block(['{', '}'], parts, depth, text);
        }
        _ => text.push_str(&flat),
    }
}

fn block<'a>(
    [open, close]: [char; 2],
    parts: impl Iterator<Item = (String, &'a Value)>,
    depth: usize,
    text: &mut String,
) {
    text.push(open);
    for (index, (label, part)) in parts.enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        let start = "  ".repeat(depth + 1) + &label;
        text.push_str(&start);
        write(part, depth + 1, start.len(), text);
    }
    text.push('\n');
    text.push_str(&"  ".repeat(depth));
    text.push(close);
}

fn flat(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(flat).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let field =
                |(key, field): (&String, &Value)| format!("{}: {}", Value::from(key.as_str()), flat(field));
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::lay_out;

    #[test]
    fn long_values_are_broken_up_and_read_back_alike() {
        let value =
            json!({"a case": [{"body": {"short": [1, {}], "long": ["x".repeat(70), "y".repeat(70)]}}]});
        let text = lay_out(&value);
        assert!(text.contains("\"short\": [1, {}]"), "{text}");
        assert!(text.lines().all(|line| line.len() < 120), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).ok(), Some(value));
    }
}
