//! How lists merge: plain values as a set, objects by the field that tells them apart. Where the items end up is for
//! `order` to say.

use std::collections::{HashMap, HashSet};
use std::mem;

use serde_json::Value;

use super::directive::Directive;
use super::order::{self, Key};
use super::refusal::Refusal;
use super::{Fields, merge_objects};
use crate::schema::{Schema, Shape};

/// What a schema says about a list.
pub(super) struct Strategy<'a> {
    pub(super) merges: bool,
    /// The field by which items are told apart. Plain values have none.
    pub(super) merge_key: Option<&'a str>,
    pub(super) items: Option<&'a Schema>,
}

/// What all items of a list have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Integer,
    Float,
    String,
    List,
    Object,
}

impl<'a> Strategy<'a> {
    /// Lists of which nothing is known are replaced.
    pub(super) fn of(list: Option<&'a Schema>) -> Result<Self, Refusal> {
        match list.map(|list| (&list.shape, &list.patch)) {
            None | Some((Shape::Any, _)) => Ok(Self { merges: false, merge_key: None, items: None }),
            Some((Shape::Array(items), patch)) => {
                Ok(Self { merges: patch.merges, merge_key: patch.merge_key.as_deref(), items: Some(items) })
            }
            Some(_) => Err(Refusal::NotAList),
        }
    }

    pub(super) fn merge(&self, live: Vec<Value>, patch: Vec<Value>) -> Result<Vec<Value>, Refusal> {
        if !self.merges || (live.is_empty() && patch.is_empty()) {
            return Ok(patch);
        }
        match element_kind(&live, &patch)? {
            Kind::Object => self.merge_objects(live, patch),
            _ => self.merge_plain_values(live, patch),
        }
    }

    /// Takes plain values out of a list, whether it merges or not.
    pub(super) fn delete(&self, live: Vec<Value>, patch: Vec<Value>) -> Result<Vec<Value>, Refusal> {
        if live.is_empty() && patch.is_empty() {
            return Ok(live);
        }
        if element_kind(&live, &patch)? == Kind::Object {
            return self.merge_objects(live, patch);
        }
        let gone: HashSet<Key> = patch.iter().map(Key::of).collect();
        Ok(live.into_iter().filter(|value| !gone.contains(&Key::of(value))).collect())
    }

    fn merge_plain_values(&self, live: Vec<Value>, patch: Vec<Value>) -> Result<Vec<Value>, Refusal> {
        let live_order = order::keys(&live, self.merge_key);
        let patch_order = order::keys(&patch, self.merge_key);
        let mut seen = HashSet::new();
        let values = live.into_iter().chain(patch).filter(|value| seen.insert(Key::of(value))).collect();
        order::arrange(values, &patch_order, &live_order, self.merge_key)
    }

    fn merge_objects(&self, live: Vec<Value>, patch: Vec<Value>) -> Result<Vec<Value>, Refusal> {
        let merge_key = self.merge_key.ok_or(Refusal::NoDeclaredMergeKey)?;
        let mut instructions = Instructions::read(patch, merge_key)?;
        let live = if instructions.replaces {
            mem::take(&mut instructions.items)
        } else {
            instructions.without_removed(live, merge_key)
        };
        let live_order = order::keys(&live, self.merge_key);
        let patch_order = order::keys(&instructions.items, self.merge_key);
        let merged = self.merge_items(live, instructions.items, merge_key)?;
        order::arrange(merged, &patch_order, &live_order, self.merge_key)
    }

    /// An item merges into the first one with its key. New items are taken as they are.
    fn merge_items(
        &self,
        mut items: Vec<Value>,
        patch: Vec<Value>,
        merge_key: &str,
    ) -> Result<Vec<Value>, Refusal> {
        let mut places: HashMap<Key, usize> = HashMap::with_capacity(items.len());
        for (place, key) in
            items.iter().enumerate().filter_map(|(place, item)| Some((place, item.get(merge_key)?)))
        {
            places.entry(Key::of(key)).or_insert(place);
        }
        for item in patch {
            let Value::Object(item) = item else { return Err(Refusal::not_a_map(&item)) };
            let key = Key::of(item.get(merge_key).ok_or_else(|| Refusal::no_merge_key(&item, merge_key))?);
            if let Some(&place) = places.get(&key) {
                let live = fields(mem::take(&mut items[place]));
                items[place] = merge_objects(live, item, self.items)?.into();
            } else {
                places.insert(key, items.len());
                items.push(item.into());
            }
        }
        Ok(items)
    }
}

/// A list of objects from a patch, with the directives among them taken out.
struct Instructions {
    items: Vec<Value>,
    removed: HashSet<Key>,
    replaces: bool,
}

impl Instructions {
    fn read(patch: Vec<Value>, merge_key: &str) -> Result<Self, Refusal> {
        let mut instructions = Self { items: Vec::new(), removed: HashSet::new(), replaces: false };
        for item in patch {
            let item = fields(item);
            match Directive::of(&item) {
                None => instructions.items.push(item.into()),
                Some(Directive::Replace) => instructions.replaces = true,
                Some(Directive::Merge) => return Err(Refusal::MergeInList),
                Some(Directive::Unknown) => return Err(Refusal::unknown_directive(&item)),
                Some(Directive::Delete) => {
                    let key = item.get(merge_key).ok_or_else(|| Refusal::no_merge_key(&item, merge_key))?;
                    instructions.removed.insert(Key::of(key));
                }
            }
        }
        Ok(instructions)
    }

    fn without_removed(&self, mut live: Vec<Value>, merge_key: &str) -> Vec<Value> {
        if !self.removed.is_empty() {
            live.retain(|item| !item.get(merge_key).is_some_and(|key| self.removed.contains(&Key::of(key))));
        }
        live
    }
}

/// The kind that all items of both lists have.
pub(super) fn element_kind(live: &[Value], patch: &[Value]) -> Result<Kind, Refusal> {
    let mut kinds = live.iter().chain(patch).map(kind);
    let first = kinds.next().ok_or(Refusal::NoElements)?;
    if first == Kind::List {
        return Err(Refusal::ListOfLists);
    }
    if first == Kind::Null || kinds.any(|kind| kind != first) {
        let printed = |items: &[Value]| super::super::Printed(&Value::from(items)).to_string();
        return Err(Refusal::MixedElements(printed(live), printed(patch)));
    }
    Ok(first)
}

fn kind(value: &Value) -> Kind {
    match value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Boolean,
        Value::Number(number) if number.is_i64() => Kind::Integer,
        Value::Number(_) => Kind::Float,
        Value::String(_) => Kind::String,
        Value::Array(_) => Kind::List,
        Value::Object(_) => Kind::Object,
    }
}

fn fields(value: Value) -> Fields {
    match value {
        Value::Object(fields) => fields,
        _ => Fields::new(),
    }
}
