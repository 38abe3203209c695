//! Resources are counted in thousandths: what is finer is rounded up.

use asb_types::quantity::Quantity;
use serde_json::{Map, Value};

use super::rule;

/// Where, and which field of it holds amounts under names. Places are written as in [`rule::Rule`].
pub(super) type Amounts = (&'static str, &'static str);

pub(super) fn apply(object: &mut Value, amounts: &[Amounts]) {
    for (at, field) in amounts {
        rule::each(object, at, &mut |object| {
            let amounts = object.get_mut(*field).and_then(Value::as_object_mut);
            amounts.into_iter().flat_map(Map::values_mut).for_each(round);
        });
    }
}

fn round(value: &mut Value) {
    if let Some(rounded) = Quantity::read(value).and_then(Quantity::rounded_to_milli) {
        *value = rounded.to_string().into();
    }
}
