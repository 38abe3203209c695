//! Makes two runs of a case comparable: what a server makes up becomes a name by role and order. Equal values stay
//! equal, different ones different, and absent ones absent. Whatever the case itself says is left alone.

mod aliases;
mod patterns;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use self::aliases::Aliases;

/// The names that the suite made for a run, and what the author of the case wrote.
pub(crate) struct Given<'a> {
    /// Value to alias, such as the namespace's name.
    pub names: Vec<(&'a str, &'static str)>,
    pub source: &'a str,
}

pub(crate) fn normalise(answers: Vec<Value>, given: &Given<'_>) -> Vec<Value> {
    let aliases = Aliases::collect(&answers, given);
    answers.into_iter().map(|answer| rewrite(answer, &aliases)).collect()
}

fn rewrite(value: Value, aliases: &Aliases<'_>) -> Value {
    match value {
        Value::String(text) => Value::String(aliases.text(&text)),
        Value::Array(items) => items.into_iter().map(|item| rewrite(item, aliases)).collect(),
        Value::Object(fields) => object(fields, aliases),
        other => other,
    }
}

fn object(fields: Map<String, Value>, aliases: &Aliases<'_>) -> Value {
    let collection = is_collection(&fields);
    let field = |(key, value): (String, Value)| {
        let value = match (key.as_str(), value) {
            ("metadata", value) if collection => of_collection(value, aliases),
            ("resourceVersion", Value::String(version)) => json!(aliases.version(&version)),
            ("continue", Value::String(token)) if !token.is_empty() => json!("<continue>"),
            ("token", Value::String(token)) if aliases.is_new(&token) => json!("<token>"),
            ("nodePort" | "healthCheckNodePort", Value::Number(port))
                if aliases.is_new(&port.to_string()) =>
            {
                json!("<port>")
            }
            ("managedFields", Value::Array(entries)) => managed_fields(entries, aliases),
            ("cells", Value::Array(cells)) => cells.into_iter().map(|cell| of_table(cell, aliases)).collect(),
            (_, value) => rewrite(value, aliases),
        };
        (aliases.text(&key), value)
    };
    Value::Object(fields.into_iter().map(field).collect())
}

/// Kubernetes sorts them by the second they changed in, which a test cannot choose.
fn managed_fields(entries: Vec<Value>, aliases: &Aliases<'_>) -> Value {
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    let order =
        |entry: &Value| ["operation", "manager", "subresource", "apiVersion"].map(|field| text(entry, field));
    let mut entries: Vec<_> = entries.into_iter().map(|entry| rewrite(entry, aliases)).collect();
    entries.sort_by_key(order);
    Value::Array(entries)
}

/// Lists, Tables and bookmarks carry the version of the whole store, which others move too.
fn is_collection(fields: &Map<String, Value>) -> bool {
    let ends_list =
        |kind: &Value| kind.as_str().is_some_and(|kind| kind.ends_with("List") || kind == "Table");
    fields.contains_key("items") || fields.get("kind").is_some_and(ends_list) || is_bookmark(fields)
}

/// A bookmark's object has nothing but a version.
fn is_bookmark(fields: &Map<String, Value>) -> bool {
    let metadata = fields.get("metadata").and_then(Value::as_object);
    metadata.is_some_and(|metadata| metadata.contains_key("resourceVersion") && !metadata.contains_key("uid"))
}

fn of_collection(metadata: Value, aliases: &Aliases<'_>) -> Value {
    let mut metadata = rewrite(metadata, aliases);
    if metadata.get("resourceVersion").is_some_and(|version| version != "" && version != "0") {
        metadata["resourceVersion"] = json!("<version of the list>");
    }
    metadata
}

/// Ages in a Table go on by themselves.
fn of_table(cell: Value, aliases: &Aliases<'_>) -> Value {
    match cell {
        Value::String(text) if aliases.is_new(&text) => json!(aliases.text(&patterns::replace_age(&text))),
        other => rewrite(other, aliases),
    }
}
