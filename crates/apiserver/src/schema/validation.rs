//! Whether a value is what its schema asks for, in the order and the words of Kubernetes.
//! Leaves lists without duplicates, embedded objects and rules in CEL to others.

mod combination;
mod finding;
mod kind;
mod number;
mod text;

use std::collections::HashMap;

use regex::Regex;
use serde_json::{Map, Value};

use super::correlation::Correlated;
use super::path::Path;
use super::{Fields, Rules, Schema, Shape};
use crate::field::Error;
use finding::{Finding, Outcome};

/// Checks values; knows the patterns of the schema, compiled.
#[derive(Clone, Copy)]
pub(super) struct Validator<'a> {
    pub patterns: &'a HashMap<String, Regex>,
}

/// One value, where it is, and what it was before.
#[derive(Clone, Copy)]
struct Place<'a> {
    value: &'a Value,
    path: &'a Path<'a>,
    was: Option<Correlated<'a>>,
}

impl Validator<'_> {
    /// `base` goes before the names of fields, but not into the messages: that is how status is checked on its own.
    pub(super) fn validate(
        self,
        schema: &Schema,
        value: &Value,
        was: Option<Correlated<'_>>,
        base: &str,
    ) -> Vec<Error> {
        let outcome = self.tolerant(schema, Place { value, path: &Path::ROOT, was });
        outcome.into_errors(base)
    }

    /// What was wrong before and has not changed is let be.
    fn tolerant(self, schema: &Schema, place: Place<'_>) -> Outcome {
        let mut outcome = self.value(schema, place);
        if !outcome.is_valid() && place.was.is_some_and(|was| was.is_unchanged()) {
            outcome.forgive();
        }
        outcome
    }

    fn value(self, schema: &Schema, place: Place<'_>) -> Outcome {
        let rules = schema.rules.as_deref();
        let mut outcome = Outcome::default();
        if place.value.is_null() {
            outcome.merge(kind::of_null(schema, place.path));
            outcome.extend(rules.and_then(|rules| unlisted(rules, place)));
            return outcome;
        }
        outcome.step(kind::of_value(schema, place.value, place.path));
        outcome.step(Some(rules.map_or_else(Outcome::matching, |rules| self.combined(rules, place))));
        match place.value {
            Value::String(value) => outcome.step(Some(text::check(self, rules, value, place.path))),
            Value::Number(value) => outcome.step(Some(number::check(schema, value, place.path))),
            Value::Array(values) => outcome.step(Some(self.items(schema, values, place))),
            _ => {}
        }
        if let Value::String(value) = place.value
            && let Some(format) = text::format(schema, value, place.path)
        {
            outcome.step(Some(format));
        }
        outcome.step(Some(rules.and_then(|rules| unlisted(rules, place)).into()));
        if let Value::Object(values) = place.value {
            outcome.step(Some(self.fields(schema, values, place)));
        }
        outcome.matches += 1;
        outcome
    }

    fn items(self, schema: &Schema, values: &[Value], place: Place<'_>) -> Outcome {
        let mut outcome = Outcome::matching();
        if let Some(items) = schema.items() {
            let old = place.was.and_then(|was| Some((was, was.items()?)));
            for (index, value) in values.iter().enumerate() {
                let was =
                    old.as_ref().and_then(|(was, items)| correlated_item(was, items, place.value, index));
                outcome.merge(self.child(items, Place { value, path: &place.path.index(index), was }));
            }
        }
        if let Some(rules) = &schema.rules {
            outcome.extend(bounds(rules.min_items, None, values.len(), "items", place.path));
            outcome.extend(bounds(None, rules.max_items, values.len(), "items", place.path));
        }
        outcome
    }

    fn child(self, schema: &Schema, place: Place<'_>) -> Outcome {
        if place.was.is_some() { self.tolerant(schema, place) } else { self.value(schema, place) }
    }

    fn fields(self, schema: &Schema, values: &Map<String, Value>, place: Place<'_>) -> Outcome {
        let mut outcome = Outcome::default();
        let nothing = Rules::default();
        let rules = schema.rules.as_deref().unwrap_or(&nothing);
        outcome.extend(bounds(
            rules.min_properties,
            rules.max_properties,
            values.len(),
            "properties",
            place.path,
        ));
        if let Shape::Object(fields) = &schema.shape {
            self.known_and_others(fields, values, place, &mut outcome);
        }
        for name in rules.required.iter().filter(|name| !values.contains_key(*name)) {
            outcome.extend(Some(Finding::required(&place.path.field(name))));
        }
        outcome
    }

    fn known_and_others(
        self,
        fields: &Fields,
        values: &Map<String, Value>,
        place: Place<'_>,
        outcome: &mut Outcome,
    ) {
        let mut check = |name: &str, value: &Value, schema: &Schema, path: Path<'_>| {
            let is_kind = place.path.is_root() && matches!(name, "apiVersion" | "kind");
            let was = place.was.filter(|_| !is_kind).and_then(|was| was.field(name));
            outcome.merge(self.child(schema, Place { value, path: &path, was }));
        };
        if let Some(others) = &fields.others {
            for (name, value) in values.iter().filter(|(name, _)| !fields.known.contains_key(*name)) {
                check(name, value, others, place.path.entry(name));
            }
        }
        for (name, value) in values {
            if let Some(schema) = fields.known.get(name) {
                check(name, value, schema, place.path.field(name));
            }
        }
    }
}

fn correlated_item<'a>(
    was: &Correlated<'a>,
    items: &super::correlation::KeyedItems<'a>,
    list: &Value,
    index: usize,
) -> Option<Correlated<'a>> {
    // In a schema under `allOf` the list is still the one that the correlation speaks of.
    let new = was.new.as_array().filter(|_| list.is_array())?.get(index)?;
    was.item(items, new)
}

/// A value that is not one of those that the schema lists.
fn unlisted(rules: &Rules, place: Place<'_>) -> Option<Finding> {
    let listed = rules.enumeration.as_ref().filter(|listed| !listed.is_empty())?;
    let found = listed.iter().any(|listed| is_same(listed, place.value));
    (!found).then(|| Finding::not_supported(place.path, place.value, listed))
}

/// Numbers are compared in the type of the listed one: 2.7 is cut to 2 where that is listed.
fn is_same(listed: &Value, value: &Value) -> bool {
    match (listed, value) {
        (Value::Number(listed), Value::Number(value)) => match (listed.as_i64(), value.as_f64()) {
            (Some(listed), Some(value)) => number::truncated(value) == listed,
            _ => listed.as_f64() == value.as_f64(),
        },
        _ => listed == value,
    }
}

fn bounds(
    least: Option<u64>,
    most: Option<u64>,
    count: usize,
    what: &str,
    path: &Path<'_>,
) -> Option<Finding> {
    let actual = count as u64;
    if let Some(least) = least.filter(|least| actual < *least) {
        return Some(Finding::invalid(path, actual, &format!("should have at least {least} {what}")));
    }
    let most = most.filter(|most| actual > *most)?;
    Some(Finding::too_many(path, count, usize::try_from(most).unwrap_or(usize::MAX), what))
}
