//! The one spelling that is kept of values that can be written in many ways.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::rule;
use crate::quantity::Quantity;

/// Where, which field, and what is in it. Places are written as in [`rule::Rule`].
pub(super) type Spelling = (&'static str, &'static str, Form);

#[derive(Clone, Copy)]
pub(super) enum Form {
    Quantity,
    /// Quantities under names.
    Quantities,
    /// The same, rounded up to thousandths: that is how finely resources are counted.
    Resources,
    /// To the second
    Time,
    /// To the microsecond
    MicroTime,
}

pub(super) fn apply(object: &mut Value, spellings: &[Spelling]) {
    for (at, field, form) in spellings {
        rule::each(object, at, &mut |object| spell(object, field, *form));
    }
}

fn spell(object: &mut Map<String, Value>, field: &str, form: Form) {
    let Some(value) = object.get_mut(field) else { return };
    match form {
        Form::Quantity => spell_quantity(value, |quantity| quantity),
        Form::Quantities => values(value).for_each(|value| spell_quantity(value, |quantity| quantity)),
        Form::Resources => values(value).for_each(|value| spell_quantity(value, Quantity::rounded_to_milli)),
        Form::Time => spell_time(value, "%Y-%m-%dT%H:%M:%SZ"),
        Form::MicroTime => spell_time(value, "%Y-%m-%dT%H:%M:%S%.6fZ"),
    }
}

fn values(map: &mut Value) -> impl Iterator<Item = &mut Value> {
    map.as_object_mut().into_iter().flat_map(Map::values_mut)
}

fn spell_quantity(value: &mut Value, change: fn(Quantity) -> Quantity) {
    if let Some(quantity) = Quantity::read(value) {
        *value = change(quantity).to_string().into();
    }
}

fn spell_time(value: &mut Value, format: &str) {
    if let Some(time) = value.as_str().and_then(|text| text.parse::<Timestamp>().ok()) {
        *value = time.strftime(format).to_string().into();
    }
}
