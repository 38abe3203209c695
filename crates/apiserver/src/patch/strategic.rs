//! Strategic merge patch: objects merge field by field, and lists as their schema says. Directives in the patch delete,
//! replace, retain and order.
//!
//! The real server panics on some patches that misuse directives; here they are refused.

mod directive;
mod list;
mod order;
mod refusal;

use serde_json::{Map, Value};

use self::directive::Directive;
use self::list::Strategy;
use self::refusal::Refusal;
use super::{Form, mismatch};
use crate::schema::{Schema, Shape};
use crate::status::Status;

type Fields = Map<String, Value>;

pub fn strategic(object: Value, patch: &Value, schema: &Schema) -> Result<Value, Status> {
    match (object, patch) {
        (object, Value::Null) => Ok(object),
        (Value::Object(original), Value::Object(patch)) => {
            Ok(merge_objects(original, patch.clone(), Some(schema))?.into())
        }
        (_, Value::Object(patch)) => Ok(merge_objects(Fields::new(), patch.clone(), Some(schema))?.into()),
        (_, other) => Err(mismatch(Form::Strategic, other, "value of type map[string]interface {}")),
    }
}

/// Without a schema, as inside values of any shape, objects merge and lists are replaced.
fn merge_objects(
    mut original: Fields,
    mut patch: Fields,
    schema: Option<&Schema>,
) -> Result<Fields, Refusal> {
    match Directive::of(&patch) {
        None => {}
        Some(Directive::Replace) => {
            patch.remove(directive::PATCH);
            return Ok(patch);
        }
        Some(Directive::Delete) => return Ok(Fields::new()),
        Some(Directive::Merge | Directive::Unknown) => return Err(Refusal::unknown_directive(&patch)),
    }
    directive::retain_keys(&mut original, &mut patch)?;
    order::set_element_order(&mut original, &mut patch, schema)?;
    for (name, value) in patch {
        merge_field(&mut original, name, value, schema)?;
    }
    Ok(original)
}

fn merge_field(
    original: &mut Fields,
    name: String,
    value: Value,
    schema: Option<&Schema>,
) -> Result<(), Refusal> {
    let (name, deletes) = match directive::deletion_target(&name)? {
        Some(target) => (target.to_owned(), true),
        None => (name, false),
    };
    let merged = match (original.remove(&name), value) {
        (_, Value::Null) => None,
        (Some(Value::Object(live)), Value::Object(patch)) => {
            Some(merge_objects(live, patch, field(schema, &name)?)?.into())
        }
        (Some(Value::Array(live)), Value::Array(patch)) => {
            let strategy = Strategy::of(field(schema, &name)?)?;
            let merged = if deletes { strategy.delete(live, patch) } else { strategy.merge(live, patch) };
            Some(merged?.into())
        }
        (live, _) if deletes => live,
        (_, value) => directive::without_directives(directive::without_nulls(value)),
    };
    if let Some(merged) = merged {
        original.insert(name, merged);
    }
    Ok(())
}

/// The schema of a field. Values inside a map have none that could say how they merge.
fn field<'a>(schema: Option<&'a Schema>, name: &str) -> Result<Option<&'a Schema>, Refusal> {
    match schema.map(|schema| &schema.shape) {
        None | Some(Shape::Any) => Ok(None),
        Some(Shape::Object(fields)) => match fields.known.get(name) {
            Some(field) => Ok(Some(field)),
            None if fields.others.is_some() => Err(Refusal::NotAStruct),
            None => Err(Refusal::UnknownField(name.to_owned())),
        },
        Some(_) => Err(Refusal::UnknownField(name.to_owned())),
    }
}

#[cfg(test)]
mod tests;
