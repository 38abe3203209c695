//! Turns the schema derived from a Rust type into one for a CustomResourceDefinition: no nulls, no zero values
//! posing as defaults, Kubernetes' types filled in.

use serde_json::{Map, Value};

use super::kubernetes;

/// Finishes a derived schema in place.
pub(super) fn finish(schema: &mut Value) {
    if let Some(name) = kubernetes::referenced(schema).map(str::to_owned) {
        return fill_in(schema, &name);
    }
    let Some(keywords) = schema.as_object_mut() else { return };
    // Absent is how a Kubernetes object says nothing; the API server drops nulls of fields that cannot be null.
    keywords.remove("nullable");
    keywords.remove("title");
    if keywords.get("default").is_some_and(is_zero) {
        keywords.remove("default");
    }
    for (keyword, value) in keywords {
        match keyword.as_str() {
            "properties" => value.as_object_mut().into_iter().flat_map(Map::values_mut).for_each(finish),
            "items" | "additionalProperties" => finish(value),
            "description" => *value = one_line(value),
            "minimum" | "maximum" => *value = whole(value),
            _ => {}
        }
    }
}

/// Puts one of Kubernetes' types in the place of a reference to it. Where the place has fields of its own besides, none is
/// required.
fn fill_in(schema: &mut Value, name: &str) {
    let mut take = |keyword| schema.as_object_mut().and_then(|schema| schema.remove(keyword));
    let (described, besides) = (take("description"), take("properties"));
    *schema = kubernetes::expand(name);
    if let Some(description) = described {
        schema["description"] = one_line(&description);
    }
    if let Some(Value::Object(besides)) = besides {
        schema.as_object_mut().map(|schema| schema.remove("required"));
        for (field, mut own) in besides {
            finish(&mut own);
            schema["properties"][field] = own;
        }
    }
}

/// Doc comments are wrapped for the source; `kubectl explain` wraps for the terminal.
fn one_line(description: &Value) -> Value {
    description.as_str().unwrap_or_default().replace('\n', " ").into()
}

/// The derived types hold bounds as floats; all of ours are whole and small.
fn whole(bound: &Value) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "bounds are small whole numbers")]
    bound.as_f64().map_or(Value::Null, |bound| (bound as i64).into())
}

/// serde fills absent fields with these; the API server need not.
fn is_zero(default: &Value) -> bool {
    match default {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}
