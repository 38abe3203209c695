//! The fields that an object sets.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::element::Element;
use super::field_set::{FieldSet, Node};
use super::typing::{Atom, Fielded, List, Type};

/// Every leaf, every item of a list and every entry of a map.
pub(super) fn fields(kind: Type<'_>, value: &Value) -> FieldSet {
    node(kind, value).below
}

fn node(kind: Type<'_>, value: &Value) -> Node {
    match kind.atom(Some(value)) {
        Atom::Scalar(_) => Node::leaf(),
        Atom::List(list) if list.kind.is_none() => Node::leaf(),
        Atom::Map(map) if map.is_atomic => Node::leaf(),
        Atom::List(list) => {
            Node { is_member: false, below: items(list, value.as_array().map_or(&[], Vec::as_slice)) }
        }
        Atom::Map(map) => {
            let below = value.as_object().map(|fields| entries(map, fields)).unwrap_or_default();
            Node { is_member: false, below }
        }
    }
}

/// Items that share a name cannot be told apart, so they are owned as one.
fn items(list: List<'_>, items: &[Value]) -> FieldSet {
    let mut named: BTreeMap<Element, Option<&Value>> = BTreeMap::new();
    for item in items {
        if let Ok(element) = list.element(item) {
            named.entry(element).and_modify(|known| *known = None).or_insert(Some(item));
        }
    }
    let mut set = FieldSet::default();
    for (element, item) in named {
        let below = item.map(|item| node(list.items, item).below).unwrap_or_default();
        set.attach(element, Node { is_member: true, below });
    }
    set
}

fn entries(map: Fielded<'_>, fields: &Map<String, Value>) -> FieldSet {
    let mut set = FieldSet::default();
    for (name, value) in fields {
        let mut node = map.field(name).map(|kind| node(kind, value)).unwrap_or_default();
        let is_bare = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        node.is_member |= is_bare || !map.names(name);
        set.attach(Element::field(name), node);
    }
    set
}

/// The set with the fields of structures that lead to its members. A structure is there because of what is in it, so it
/// goes when that goes; a map or an item is there on its own.
pub(super) fn with_structures(set: &FieldSet, kind: Option<Type<'_>>) -> FieldSet {
    let atom = kind.map(|kind| kind.atom(None));
    set.each(|element, known| {
        let (is_structure, kind) = match (element, atom) {
            (Element::Field(name), Some(Atom::Map(map))) => (map.names(name), map.field(name)),
            (Element::Key(_), Some(Atom::List(list))) => (false, Some(list.items)),
            _ => (false, None),
        };
        let is_member = known.is_member || is_structure;
        Some(Node { is_member, below: with_structures(&known.below, kind) })
    })
}

/// The set as it would be had the schema always been what it is now: what has become atomic is owned as a whole.
pub(super) fn reconciled(set: &FieldSet, kind: Type<'_>) -> FieldSet {
    match kind.atom(None) {
        Atom::Scalar(_) => set.clone(),
        Atom::Map(map) if map.is_untyped() => set.clone(),
        Atom::Map(map) => set.each(|element, node| match element {
            Element::Field(name) => Some(reconciled_node(node, map.field(name))),
            _ => Some(node.clone()),
        }),
        Atom::List(list) => set.each(|_, node| Some(reconciled_node(node, Some(list.items)))),
    }
}

fn reconciled_node(node: &Node, kind: Option<Type<'_>>) -> Node {
    let Some(kind) = kind else { return node.clone() };
    let is_atomic = match kind.atom(None) {
        Atom::Scalar(_) => false,
        Atom::List(list) => list.kind.is_none(),
        Atom::Map(map) => map.is_atomic && !map.is_untyped(),
    };
    match node.below.is_empty() {
        true => node.clone(),
        false if is_atomic => Node::leaf(),
        false => Node { is_member: node.is_member, below: reconciled(&node.below, kind) },
    }
}
