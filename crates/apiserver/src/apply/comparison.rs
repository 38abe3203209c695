//! What changed between two objects, as sets of fields.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::element::Element;
use super::field_set::{FieldSet, Node};
use super::typing::{Atom, Fielded, List, Type};
use super::values;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

pub(super) fn compare(kind: Type<'_>, old: &Value, new: &Value) -> Comparison {
    find(kind, Some(old), Some(new)).below
}

/// What became of a value itself, and of what is below it.
#[derive(Default)]
struct Found {
    this: Option<Change>,
    below: Comparison,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Removed,
    Modified,
    Added,
}

impl Comparison {
    pub(super) fn written(&self) -> FieldSet {
        self.modified.union(&self.added)
    }

    fn attach(&mut self, element: &Element, found: Found) {
        let Found { this, below: Self { removed, modified, added } } = found;
        let sets = [
            (&mut self.removed, Change::Removed, removed),
            (&mut self.modified, Change::Modified, modified),
            (&mut self.added, Change::Added, added),
        ];
        for (set, change, below) in sets {
            set.attach(element.clone(), Node { is_member: this == Some(change), below });
        }
    }
}

/// Where both sides fit the type in different ways, the value is taken apart in both.
fn find(kind: Type<'_>, old: Option<&Value>, new: Option<&Value>) -> Found {
    let (before, after) = (kind.atom(old), kind.atom(new));
    if new.is_none() {
        return find_in(before, old, new);
    }
    let mut found = find_in(after, old, new);
    if old.is_some() && std::mem::discriminant(&before) != std::mem::discriminant(&after) {
        let other = find_in(before, old, new);
        found.this = found.this.or(other.this);
        found.below.removed.extend(other.below.removed);
        found.below.modified.extend(other.below.modified);
        found.below.added.extend(other.below.added);
    }
    found
}

fn find_in(atom: Atom<'_>, old: Option<&Value>, new: Option<&Value>) -> Found {
    let below = match atom {
        Atom::Scalar(_) => None,
        Atom::List(list) => {
            let (old, new) = (list_of(old), list_of(new));
            let is_leaf = list.kind.is_none() || old.is_empty() && new.is_empty();
            (!is_leaf).then(|| compare_items(list, old, new))
        }
        Atom::Map(map) => {
            let (old, new) = (map_of(old), map_of(new));
            let is_empty = |side: Option<&Map<String, Value>>| side.is_none_or(Map::is_empty);
            let is_leaf = map.is_atomic || is_empty(old) && is_empty(new);
            (!is_leaf).then(|| compare_entries(map, old, new))
        }
    };
    let this = match (old, new) {
        (None, _) => Some(Change::Added),
        (_, None) => Some(Change::Removed),
        (Some(old), Some(new)) => (below.is_none() && !values::equal(old, new)).then_some(Change::Modified),
    };
    Found { this, below: below.unwrap_or_default() }
}

fn list_of(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn map_of(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

fn compare_entries(
    map: Fielded<'_>,
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
) -> Comparison {
    let mut comparison = Comparison::default();
    let lost = old.into_iter().flatten().filter(|(name, _)| new.is_none_or(|new| !new.contains_key(*name)));
    for name in lost.chain(new.into_iter().flatten()).map(|(name, _)| name) {
        if let Some(kind) = map.field(name) {
            let (old, new) = (old.and_then(|old| old.get(name)), new.and_then(|new| new.get(name)));
            comparison.attach(&Element::field(name), find(kind, old, new));
        }
    }
    comparison
}

/// Items of one name, before and after.
#[derive(Default)]
struct Namesakes<'a> {
    old: Vec<&'a Value>,
    new: Vec<&'a Value>,
}

fn compare_items(list: List<'_>, old: &[Value], new: &[Value]) -> Comparison {
    let mut named: BTreeMap<Element, Namesakes<'_>> = BTreeMap::new();
    for item in old {
        if let Ok(element) = list.element(item) {
            named.entry(element).or_default().old.push(item);
        }
    }
    for item in new {
        if let Ok(element) = list.element(item) {
            named.entry(element).or_default().new.push(item);
        }
    }
    let mut comparison = Comparison::default();
    for (element, namesakes) in named {
        compare_namesakes(list, &element, &namesakes, &mut comparison);
    }
    comparison
}

/// Items that share a name are one leaf: they come, go and change together.
fn compare_namesakes(list: List<'_>, element: &Element, items: &Namesakes<'_>, comparison: &mut Comparison) {
    let only = |this| Found { this: Some(this), below: Comparison::default() };
    match (items.old.as_slice(), items.new.as_slice()) {
        (old @ ([] | [_]), new @ ([] | [_])) => {
            comparison.attach(element, find(list.items, old.first().copied(), new.first().copied()));
        }
        (old @ [_, _, ..], new @ [_, _, ..]) => {
            let is_same = old.len() == new.len() && old.iter().zip(new).all(|(a, b)| values::equal(a, b));
            if !is_same {
                comparison.attach(element, only(Change::Modified));
            }
        }
        ([_, _, ..], new) => {
            if let Some(new) = new.first() {
                comparison.attach(element, find(list.items, None, Some(new)));
            }
            comparison.attach(element, only(Change::Removed));
        }
        (old, [_, _, ..]) => {
            if let Some(old) = old.first() {
                comparison.attach(element, find(list.items, Some(old), None));
            }
            comparison.attach(element, only(Change::Added));
        }
    }
}
