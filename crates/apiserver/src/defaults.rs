//! The values that Kubernetes' own kinds get where the writer left them out, and the one form that it keeps of what can
//! be written in several: quantities, times, and empty fields. Total and idempotent: what has the wrong type is left for validation to refuse.
//!
//! This comes first: an object is decoded, defaulted, changed by [`crate::admission`], prepared by
//! [`crate::strategy`], validated, checked by admission and stored. What is stored is defaulted already.
//! CustomResourceDefinitions and what they define are somebody else's.

mod container;
mod image;
mod kinds;
mod omission;
mod pod;
mod resources;
mod rule;
mod service;
mod spelling;
mod volume;

use serde_json::Value;

use crate::identity::GroupKind;
use rule::Rule;
use spelling::Spelling;

pub(crate) use resources::{needed_by_containers, pod_requests};
pub(crate) use service::is_externally_accessible;

/// Fills in what a kind has when nobody says otherwise.
pub fn apply(kind: &GroupKind, object: &mut Value) {
    omission::apply(kind, object);
    let Some(defaults) = kinds::find(kind) else { return };
    spelling::apply(object, defaults.spellings);
    (defaults.before)(object);
    rule::apply(object, "", defaults.rules);
    (defaults.after)(object);
}

/// Everything that there is to know about the defaults of one kind.
struct Defaults {
    group: &'static str,
    kind: &'static str,
    rules: &'static [Rule],
    spellings: &'static [Spelling],
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
