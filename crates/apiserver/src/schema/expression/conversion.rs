//! The values that expressions see: typed by the schema, with the fields that it knows under names that can be written.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube_cel::cel::Value;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, IdedExpr};
use serde_json::Value as Json;

use super::escape::escape;
use super::functions::CONTEXT;
use crate::schema::{Schema, Shape};

/// `looks_at` names the fields that matter, as expressions write them; none are all.
pub(super) fn convert(
    schema: &Schema,
    value: &Json,
    is_resource: bool,
    looks_at: Option<&BTreeSet<String>>,
) -> Value {
    let (Shape::Object(fields), Json::Object(values)) = (&schema.shape, value) else {
        return plain(schema, value);
    };
    if let Some(others) = &fields.others
        && fields.known.is_empty()
    {
        return map(values.iter().map(|(name, value)| (name.clone(), plain(others, value))));
    }
    let entries = values.iter().filter_map(|(name, value)| {
        let escaped = escape(name)?;
        if looks_at.is_some_and(|fields| !fields.contains(&escaped)) {
            return None;
        }
        if is_resource && let Some(value) = meta_field(name, value) {
            return Some((escaped, value));
        }
        let field = fields.known.get(name)?;
        // Fields of which nothing is known cannot be looked at.
        (!matches!(field.shape, Shape::Any)).then(|| (escaped, convert_child(field, value)))
    });
    map(entries)
}

fn convert_child(schema: &Schema, value: &Json) -> Value {
    convert(schema, value, schema.is_embedded_resource, None)
}

/// Of the metadata only the names are there for rules.
fn meta_field(name: &str, value: &Json) -> Option<Value> {
    match name {
        "apiVersion" | "kind" => Some(Value::from(value.as_str()?.to_owned())),
        "metadata" => {
            let names = ["name", "generateName"].into_iter();
            let found = names.filter_map(|name| Some((name.to_owned(), value.get(name)?.as_str()?)));
            Some(map(found.map(|(name, text)| (name, Value::from(text.to_owned())))))
        }
        _ => None,
    }
}

fn plain(schema: &Schema, value: &Json) -> Value {
    match (&schema.shape, value) {
        (_, Json::Null) => Value::Null,
        (_, Json::Bool(flag)) => Value::Bool(*flag),
        (Shape::Number, Json::Number(number)) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        (shape, Json::Number(number)) => integer(shape, number),
        (_, Json::String(text)) => formatted(schema, text),
        (Shape::Array(items), Json::Array(values)) => {
            Value::List(Arc::new(values.iter().map(|value| convert_child(items, value)).collect()))
        }
        (_, Json::Array(_)) => Value::List(Arc::default()),
        (_, Json::Object(_)) => match schema.shape {
            Shape::Object(_) => convert_child(schema, value),
            _ => map(std::iter::empty()),
        },
    }
}

fn integer(shape: &Shape, number: &serde_json::Number) -> Value {
    let float = number.as_f64().unwrap_or(f64::NAN);
    match number.as_i64() {
        Some(int) => Value::Int(int),
        None if matches!(shape, Shape::Integer) && float.fract() == 0.0 =>
        {
            #[expect(clippy::cast_possible_truncation, reason = "the number is whole")]
            Value::Int(float as i64)
        }
        None => Value::Float(float),
    }
}

/// Text with a format is what the format says.
fn formatted(schema: &Schema, text: &str) -> Value {
    let format = schema.rules.as_ref().and_then(|rules| rules.format.as_deref());
    let typed = match (&schema.shape, format) {
        (Shape::String, Some("byte")) => {
            STANDARD.decode(text).ok().map(|bytes| Value::Bytes(Arc::new(bytes)))
        }
        (Shape::String, Some("date-time")) => text.parse().ok().map(Value::Timestamp),
        (Shape::String, Some("date")) => format!("{text}T00:00:00Z").parse().ok().map(Value::Timestamp),
        (Shape::String, Some("duration")) => duration(text),
        _ => None,
    };
    typed.unwrap_or_else(|| Value::from(text.to_owned()))
}

/// By the function of the language, which is the one that knows how durations are made.
fn duration(text: &str) -> Option<Value> {
    static CALL: LazyLock<IdedExpr> = LazyLock::new(|| parsed("duration(text)"));
    let mut context = CONTEXT.new_inner_scope();
    context.add_variable_from_value("text", text.to_owned());
    context.resolve(&CALL).ok()
}

/// The old value where a rule takes care itself that there may be none.
pub(super) fn optional(value: Option<Value>) -> Value {
    static NONE: LazyLock<IdedExpr> = LazyLock::new(|| parsed("optional.none()"));
    static SOME: LazyLock<IdedExpr> = LazyLock::new(|| parsed("optional.of(value)"));
    let mut context: Context<'_> = CONTEXT.new_inner_scope();
    let call = match value {
        None => &NONE,
        Some(value) => {
            context.add_variable_from_value("value", value);
            &SOME
        }
    };
    context.resolve(call).unwrap_or(Value::Null)
}

fn parsed(source: &str) -> IdedExpr {
    kube_cel::cel::parser::Parser::new().parse(source).expect("the expression is written here")
}

fn map(entries: impl Iterator<Item = (String, Value)>) -> Value {
    let entries: HashMap<Key, Value> = entries.map(|(name, value)| (Key::from(name), value)).collect();
    Value::Map(Map { map: Arc::new(entries) })
}
