//! Puts in order what the real server says in any order: where it walks Go's maps, the complaints of a Status come
//! in another order each time.

use serde_json::{Value, json};

/// Sorts the causes of a Status, and the message that lists them.
pub(crate) fn sort_causes(status: &mut Value) {
    let Some(causes) = status.pointer("/details/causes").and_then(Value::as_array) else { return };
    let mut causes = causes.clone();
    causes.sort_by_key(Value::to_string);
    let mut listed: Vec<_> = causes.iter().map(said).collect();
    listed.dedup();
    if let Some(message) = status["message"].as_str().and_then(|message| relist(message, &listed)) {
        status["message"] = json!(message);
    }
    status["details"]["causes"] = Value::Array(causes);
}

fn said(cause: &Value) -> String {
    let text = |field: &str| cause[field].as_str().unwrap_or_default().to_owned();
    format!("{}: {}", text("field"), text("message"))
}

/// The message with its list in this order; none if that is not the list it has.
fn relist(message: &str, listed: &[String]) -> Option<String> {
    let (start, list) = message.split_once(" is invalid: [")?;
    let list = list.strip_suffix(']')?;
    let sorted = listed.join(", ");
    let same = list.len() == sorted.len() && listed.iter().all(|complaint| list.contains(complaint.as_str()));
    same.then(|| format!("{start} is invalid: [{sorted}]"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::sort_causes;

    #[test]
    fn the_message_follows_the_causes() {
        let cause = |field: &str| json!({"field": field, "message": "Required value", "reason": "R"});
        let mut status = json!({
            "message": "X \"y\" is invalid: [b: Required value, a: Required value]",
            "details": {"causes": [cause("b"), cause("a")]},
        });
        sort_causes(&mut status);
        assert_eq!(status["message"], "X \"y\" is invalid: [a: Required value, b: Required value]");
        assert_eq!(status["details"]["causes"], json!([cause("a"), cause("b")]));
    }
}
