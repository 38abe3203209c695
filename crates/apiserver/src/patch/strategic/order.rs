//! Where the items of a merged list end up. The order in `$setElementOrder` comes first, then the order in the patch,
//! then the order in the live object; items that only the server has stay as near to their neighbours as that allows.

use std::collections::HashMap;

use serde_json::Value;

use super::directive::{self, Directive};
use super::list::{Strategy, element_kind};
use super::refusal::Refusal;
use super::{Fields, field};
use crate::patch::Printed;
use crate::schema::Schema;

/// What an item is found by: the value of its merge key, or itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(String);

/// Ranks by the first place at which a key stands.
struct Ranking<'a>(HashMap<&'a Key, usize>);

impl Key {
    /// Numbers that are written differently are different keys, as they are to Kubernetes.
    pub(super) fn of(value: &Value) -> Self {
        Self(value.to_string())
    }
}

impl<'a> Ranking<'a> {
    fn new(keys: &'a [Key]) -> Self {
        let mut places = HashMap::with_capacity(keys.len());
        for (place, key) in keys.iter().enumerate() {
            places.entry(key).or_insert(place);
        }
        Self(places)
    }

    fn of(&self, key: &Key) -> Option<usize> {
        self.0.get(key).copied()
    }
}

/// The keys of those items that have one.
pub(super) fn keys(items: &[Value], merge_key: Option<&str>) -> Vec<Key> {
    items
        .iter()
        .filter_map(|item| Some(Key::of(merge_key.map_or(Some(item), |key| item.get(key))?)))
        .collect()
}

/// Sorts items that are in `wanted` by it and the others by `live`, and interleaves the two.
pub(super) fn arrange(
    items: Vec<Value>,
    wanted: &[Key],
    live: &[Key],
    merge_key: Option<&str>,
) -> Result<Vec<Value>, Refusal> {
    let (wanted, live) = (Ranking::new(wanted), Ranking::new(live));
    let (mut chosen, mut others) = (Vec::new(), Vec::new());
    for item in items {
        let key = key_of(&item, merge_key)?;
        let live_rank = live.of(&key);
        match wanted.of(&key) {
            Some(rank) => chosen.push((rank, live_rank, item)),
            None => others.push((live_rank, item)),
        }
    }
    chosen.sort_by_key(|(rank, ..)| *rank);
    others.sort_by_key(|(live_rank, _)| live_rank.unwrap_or(usize::MAX));
    Ok(interleave(others, chosen))
}

fn key_of(item: &Value, merge_key: Option<&str>) -> Result<Key, Refusal> {
    let Some(merge_key) = merge_key else { return Ok(Key::of(item)) };
    let fields = item.as_object().ok_or_else(|| Refusal::not_a_map(item))?;
    fields.get(merge_key).map(Key::of).ok_or_else(|| Refusal::no_merge_key(fields, merge_key))
}

/// An item of the server goes before the first chosen one that stood behind it in the live list.
fn interleave(others: Vec<(Option<usize>, Value)>, chosen: Vec<(usize, Option<usize>, Value)>) -> Vec<Value> {
    let mut all = Vec::with_capacity(others.len() + chosen.len());
    let mut others = others.into_iter().peekable();
    for (_, chosen_rank, chosen) in chosen {
        let stood_before = |(rank, _): &(Option<usize>, Value)| {
            rank.zip(chosen_rank).is_some_and(|(rank, chosen_rank)| rank < chosen_rank)
        };
        while let Some((_, other)) = others.next_if(stood_before) {
            all.push(other);
        }
        all.push(chosen);
    }
    all.extend(others.map(|(_, other)| other));
    all
}

/// Merges and orders the lists that `$setElementOrder` directives are about, and takes both out of the patch.
pub(super) fn set_element_order(
    original: &mut Fields,
    patch: &mut Fields,
    schema: Option<&Schema>,
) -> Result<(), Refusal> {
    let is_order = |name: &&String| name.starts_with(directive::ORDER_PREFIX);
    let directives: Vec<String> = patch.keys().filter(is_order).cloned().collect();
    for name in directives {
        let order = list(patch.remove(&name))?.unwrap_or_default();
        let target = directive::target(&name, directive::ORDER_PREFIX).ok_or(Refusal::ElementOrderFormat)?;
        let (live, items) = (list(original.remove(target))?, list(patch.remove(target))?);
        let strategy = Strategy::of(field(schema, target)?)?;
        if let Some(ordered) = ordered(live, items, &order, &strategy)? {
            original.insert(target.to_owned(), ordered.into());
        }
    }
    Ok(())
}

fn list(value: Option<Value>) -> Result<Option<Vec<Value>>, Refusal> {
    match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(other) => Err(Refusal::not_a_list(&other)),
    }
}

fn ordered(
    live: Option<Vec<Value>>,
    patch: Option<Vec<Value>>,
    order: &[Value],
    strategy: &Strategy<'_>,
) -> Result<Option<Vec<Value>>, Refusal> {
    check_agreement(patch.as_deref().unwrap_or_default(), order, strategy.merge_key)?;
    let live_order = keys(live.as_deref().unwrap_or_default(), strategy.merge_key);
    let kind = element_kind(live.as_deref().unwrap_or_default(), patch.as_deref().unwrap_or_default());
    let merged = match (live, patch) {
        (None, None) => return Ok(None),
        (Some(live), None) => live,
        (None, Some(patch)) => patch.into_iter().filter_map(directive::without_directives).collect(),
        (Some(live), Some(patch)) => strategy.merge(live, patch)?,
    };
    if strategy.merge_key.is_some() && !merged.is_empty() {
        check_order(order)?;
    }
    kind?;
    let order = order.iter().map(|item| key_of(item, strategy.merge_key)).collect::<Result<Vec<_>, _>>()?;
    arrange(merged, &order, &live_order, strategy.merge_key).map(Some)
}

fn check_order(order: &[Value]) -> Result<(), Refusal> {
    order.iter().position(|item| !item.is_object()).map_or(Ok(()), |place| Err(Refusal::NotAMap(place)))
}

/// The items of a patch have to be among those of the order, and in it.
fn check_agreement(patch: &[Value], order: &[Value], merge_key: Option<&str>) -> Result<(), Refusal> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    if let Some(item) = patch.iter().find(|item| merge_key.is_some() && !item.is_object()) {
        return Err(Refusal::not_a_map(item));
    }
    let mut left =
        patch.iter().filter(|item| !(merge_key.is_some() && directive(item) == Some(Directive::Delete)));
    let mut next = left.next();
    for wanted in order {
        while next.is_some_and(|item| directive(item).is_some()) {
            next = left.next();
        }
        let Some(item) = next else { return Ok(()) };
        if key_of(item, merge_key)? == key_of(wanted, merge_key)? {
            next = left.next();
        }
    }
    if next.is_none() {
        return Ok(());
    }
    let printed = |items: &[Value]| Printed(&Value::from(items)).to_string();
    Err(Refusal::ContradictsOrder { patch: printed(patch), order: printed(order) })
}

fn directive(item: &Value) -> Option<Directive> {
    item.as_object().and_then(Directive::of)
}
