//! The values that Kubernetes' own kinds get where the writer left them out. Total and idempotent: what has the wrong
//! type is left for validation to refuse. Empty values, and the one form of times and quantities, are
//! [`crate::decode`]'s.
//!
//! An object is decoded, defaulted, changed by [`crate::admission`], prepared by
//! [`crate::strategy`], validated, checked by admission and stored. What is stored is defaulted already.
//! CustomResourceDefinitions and what they define are somebody else's.

mod container;
mod image;
mod kinds;
mod pod;
mod resources;
mod rounding;
mod rule;
mod service;
mod volume;

use serde_json::Value;

use crate::decode::typed;
use crate::identity::{GroupKind, api_version};
use rounding::Amounts;
use rule::Rule;

pub(crate) use resources::needed_by_containers;
pub(crate) use service::is_externally_accessible;

/// Fills in what a kind has when nobody says otherwise. The object has the form that decoding gives it.
pub fn apply(kind: &GroupKind, object: &mut Value) {
    let Some(defaults) = kinds::find(kind) else { return };
    rounding::apply(object, defaults.amounts);
    (defaults.before)(object);
    rule::apply(object, "", defaults.rules);
    (defaults.after)(object);
}

/// The same for an object that was changed after it was decoded: what is empty or missing now is as if it was sent so.
pub fn apply_again(kind: &GroupKind, object: &mut Value) {
    // What decoding would refuse is left for validation to refuse.
    let _ = typed::normalise(object, &api_version(&kind.group, "v1"), &kind.kind);
    apply(kind, object);
}

/// Everything that there is to know about the defaults of one kind.
struct Defaults {
    group: &'static str,
    kind: &'static str,
    rules: &'static [Rule],
    /// Resources, which are counted less finely than they can be written.
    amounts: &'static [Amounts],
    /// What depends on other fields as the writer left them.
    before: fn(&mut Value),
    /// What depends on other fields with their defaults.
    after: fn(&mut Value),
}

/// A field of an object that may be anything.
fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
