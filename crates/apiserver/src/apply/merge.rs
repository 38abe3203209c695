//! Puts an applied configuration into a stored object, and takes fields out of one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::element::Element;
use super::field_set::FieldSet;
use super::typing::{Atom, Fielded, List, Type};

/// The object with all that the configuration sets. Nothing that the configuration leaves out goes.
pub(super) fn merge(kind: Type<'_>, live: &Value, config: &Value) -> Value {
    match kind.atom(Some(config)) {
        Atom::List(list) if list.kind.is_some() => {
            let (old, new) = (live.as_array(), config.as_array());
            match merged_items(list, old.map_or(&[], Vec::as_slice), new.map_or(&[], Vec::as_slice)) {
                items if items.is_empty() => config.clone(),
                items => Value::Array(items),
            }
        }
        Atom::Map(map) if !map.is_atomic => match merged_entries(map, live.as_object(), config.as_object()) {
            entries if entries.is_empty() => config.clone(),
            entries => Value::Object(entries),
        },
        _ => config.clone(),
    }
}

fn merged_entries(
    map: Fielded<'_>,
    live: Option<&Map<String, Value>>,
    config: Option<&Map<String, Value>>,
) -> Map<String, Value> {
    let mut merged = live.cloned().unwrap_or_default();
    for (name, value) in config.into_iter().flatten() {
        let value = match (merged.get(name), map.field(name)) {
            (Some(known), Some(kind)) => merge(kind, known, value),
            _ => value.clone(),
        };
        merged.insert(name.clone(), value);
    }
    merged
}

/// Items that both have stand in the order of the configuration. Around them, items that only the stored list has keep
/// their place before or after those.
fn merged_items(list: List<'_>, live: &[Value], config: &[Value]) -> Vec<Value> {
    let named = |items: &[Value]| -> Vec<Element> {
        items.iter().filter_map(|item| list.element(item).ok()).collect()
    };
    let (old, new) = (named(live), named(config));
    if old.len() != live.len() || new.len() != config.len() {
        // Items without a name were refused before anything was merged.
        return config.to_vec();
    }
    let known = by_name(&old, live);
    let given: BTreeSet<&Element> = new.iter().collect();
    let take = |index: usize| match known.get(&new[index]) {
        Some(Some(item)) => merge(list.items, item, &config[index]),
        _ => config[index].clone(),
    };
    order(&old, &new, &given)
        .into_iter()
        .map(|place| match place {
            Place::Live(index) => live[index].clone(),
            Place::Config(index) => take(index),
        })
        .collect()
}

/// Items that share a name are not merged with anything.
fn by_name<'a>(names: &'a [Element], items: &'a [Value]) -> BTreeMap<&'a Element, Option<&'a Value>> {
    let mut known = BTreeMap::new();
    for (name, item) in names.iter().zip(items) {
        known.entry(name).and_modify(|item| *item = None).or_insert(Some(item));
    }
    known
}

/// An item of the merged list: one that only the stored list has, or one of the configuration.
enum Place {
    Live(usize),
    Config(usize),
}

/// A stored item that the configuration has too waits for its turn there; when another is awaited before it, it is passed
/// over, to come where the configuration has it.
fn order(old: &[Element], new: &[Element], given: &BTreeSet<&Element>) -> Vec<Place> {
    let known: BTreeSet<&Element> = old.iter().collect();
    let mut places = Vec::with_capacity(old.len().max(new.len()));
    let mut taken: BTreeSet<&Element> = BTreeSet::new();
    let mut awaited = new.iter().filter(|name| known.contains(name)).peekable();
    let (mut left, mut right) = (0, 0);
    while left < old.len() || right < new.len() {
        if let Some(name) = old.get(left) {
            if !given.contains(name) {
                places.push(Place::Live(left));
                left += 1;
                continue;
            }
            let is_passed = taken.contains(name);
            let is_out_of_turn =
                new.get(right) != Some(name) && awaited.peek().is_some_and(|next| *next != name);
            if is_out_of_turn && right < new.len() {
                left += 1;
                continue;
            }
            if is_passed || new.get(right) == Some(name) {
                left += 1;
            }
        }
        if let Some(name) = new.get(right) {
            taken.insert(name);
            places.push(Place::Config(right));
            right += 1;
            if awaited.peek().is_some_and(|next| *next == name) {
                awaited.next();
            }
        }
    }
    places
}

/// The value without the fields of the set. Where all was in it null is left, which validation may well refuse: so it is in
/// Kubernetes.
pub(super) fn without(kind: Type<'_>, value: &Value, set: &FieldSet) -> Value {
    match (kind.atom(Some(value)), value) {
        (Atom::Scalar(_), _) => value.clone(),
        (Atom::List(list), Value::Array(items)) if list.kind.is_some() => {
            let kept: Vec<Value> = items.iter().filter_map(|item| kept_item(list, item, set)).collect();
            if kept.is_empty() { Value::Null } else { Value::Array(kept) }
        }
        (Atom::Map(map), Value::Object(fields)) if !map.is_atomic => {
            let kept = fields.iter().filter_map(|(name, value)| kept_entry(map, name, value, set));
            let kept: Map<String, Value> = kept.collect();
            if kept.is_empty() { Value::Null } else { Value::Object(kept) }
        }
        _ => Value::Null,
    }
}

fn kept_item(list: List<'_>, item: &Value, set: &FieldSet) -> Option<Value> {
    let node = list.element(item).ok().and_then(|element| set.nodes.get(&element));
    match node {
        None => Some(item.clone()),
        Some(node) if node.is_member => None,
        Some(node) => Some(without(list.items, item, &node.below)),
    }
}

fn kept_entry(map: Fielded<'_>, name: &str, value: &Value, set: &FieldSet) -> Option<(String, Value)> {
    let value = match (set.nodes.get(&Element::field(name)), map.field(name)) {
        (Some(node), _) if node.is_member => return None,
        (Some(node), Some(kind)) => without(kind, value, &node.below),
        _ => value.clone(),
    };
    Some((name.to_owned(), value))
}
