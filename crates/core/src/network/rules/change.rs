//! What takes one rule set to another, step by step; the kernel takes all the steps at once or none.

use std::collections::BTreeMap;

use super::{Base, Content, Key, Rule, RuleSet, Set, Target};

/// One step. Names of chains come before whoever goes there, and go after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    AddChain(&'a str, Option<Base>),
    AddSet(&'a str, &'a Set),
    /// Empties a set.
    FlushSet(&'a str),
    RemoveElements(&'a Set, &'a str, Elements<'a>),
    AddElements(&'a Set, &'a str, Elements<'a>),
    /// Takes all rules out of a chain.
    FlushChain(&'a str),
    AddRule(&'a str, &'a Rule),
    RemoveSet(&'a str),
    RemoveChain(&'a str),
}

/// Part of what a set holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elements<'a> {
    Keys(Vec<(&'a Key, &'a str)>),
    Verdicts(Vec<(&'a Key, &'a Target)>),
    Ranges,
}

/// From nothing to this.
pub fn all(new: &RuleSet) -> Vec<Change<'_>> {
    static NOTHING: RuleSet = RuleSet { sets: BTreeMap::new(), chains: BTreeMap::new() };
    between(&NOTHING, new)
}

pub fn between<'a>(old: &'a RuleSet, new: &'a RuleSet) -> Vec<Change<'a>> {
    let mut changes = Vec::new();
    new_chains(old, new, &mut changes);
    new_sets(old, new, &mut changes);
    elements(old, new, &mut changes);
    rules(old, new, &mut changes);
    let gone = old.sets.keys().filter(|name| !new.sets.contains_key(*name));
    changes.extend(gone.map(|name| Change::RemoveSet(name)));
    let gone = old.chains.keys().filter(|name| !new.chains.contains_key(*name));
    changes.extend(gone.map(|name| Change::RemoveChain(name)));
    changes
}

/// Whether two sets of one name are of different make, which no step can change.
fn needs_replacing(old: &Set, new: &Set) -> bool {
    let make = |set: &Set| match &set.content {
        Content::Keys(_) => (0, None),
        Content::Ranges(_) => (1, None),
        Content::Verdicts(_) => (2, None),
        Content::Recent(time) => (3, Some(*time)),
    };
    old.fields != new.fields || make(old) != make(new)
}

/// Whether steps lead from one to the other: names that stay keep their make and their hook.
pub fn is_reachable(old: &RuleSet, new: &RuleSet) -> bool {
    let sets = old.sets.iter().filter_map(|(name, set)| Some((set, new.sets.get(name)?)));
    let chains = old.chains.iter().filter_map(|(name, chain)| Some((chain, new.chains.get(name)?)));
    sets.into_iter().all(|(old, new)| !needs_replacing(old, new))
        && chains.into_iter().all(|(old, new)| old.base == new.base)
}

fn new_chains<'a>(old: &RuleSet, new: &'a RuleSet, changes: &mut Vec<Change<'a>>) {
    let added = new.chains.iter().filter(|(name, _)| !old.chains.contains_key(*name));
    changes.extend(added.map(|(name, chain)| Change::AddChain(name, chain.base)));
}

fn new_sets<'a>(old: &RuleSet, new: &'a RuleSet, changes: &mut Vec<Change<'a>>) {
    let added = new.sets.iter().filter(|(name, _)| !old.sets.contains_key(*name));
    changes.extend(added.map(|(name, set)| Change::AddSet(name, set)));
}

fn elements<'a>(old: &'a RuleSet, new: &'a RuleSet, changes: &mut Vec<Change<'a>>) {
    for (name, set) in &new.sets {
        let before = old.sets.get(name);
        match (before.map(|set| &set.content), &set.content) {
            (Some(Content::Keys(old)), Content::Keys(new)) => {
                replace(name, set, difference(old, new, String::as_str), Elements::Keys, changes);
            }
            (Some(Content::Verdicts(old)), Content::Verdicts(new)) => {
                replace(name, set, difference(old, new, |target| target), Elements::Verdicts, changes);
            }
            (Some(Content::Ranges(old)), Content::Ranges(new)) if old != new => {
                changes.push(Change::FlushSet(name));
                changes.extend(whole(&set.content).map(|all| Change::AddElements(set, name, all)));
            }
            (None, content) => changes.extend(whole(content).map(|all| Change::AddElements(set, name, all))),
            _ => {}
        }
    }
}

/// What goes and what comes. A key whose value differs does both.
type Difference<'a, V> = (Vec<(&'a Key, V)>, Vec<(&'a Key, V)>);

fn difference<'a, S: PartialEq, V>(
    old: &'a BTreeMap<Key, S>,
    new: &'a BTreeMap<Key, S>,
    value: impl Fn(&'a S) -> V,
) -> Difference<'a, V> {
    let gone = old.iter().filter(|(key, held)| new.get(*key) != Some(*held));
    let come = new.iter().filter(|(key, held)| old.get(*key) != Some(*held));
    (
        gone.map(|(key, held)| (key, value(held))).collect(),
        come.map(|(key, held)| (key, value(held))).collect(),
    )
}

fn replace<'a, V>(
    name: &'a str,
    set: &'a Set,
    (gone, come): Difference<'a, V>,
    elements: impl Fn(Vec<(&'a Key, V)>) -> Elements<'a>,
    changes: &mut Vec<Change<'a>>,
) {
    if !gone.is_empty() {
        changes.push(Change::RemoveElements(set, name, elements(gone)));
    }
    if !come.is_empty() {
        changes.push(Change::AddElements(set, name, elements(come)));
    }
}

fn whole(content: &Content) -> Option<Elements<'_>> {
    match content {
        Content::Keys(keys) if !keys.is_empty() => {
            Some(Elements::Keys(keys.iter().map(|(key, remark)| (key, remark.as_str())).collect()))
        }
        Content::Verdicts(verdicts) if !verdicts.is_empty() => {
            Some(Elements::Verdicts(verdicts.iter().collect()))
        }
        Content::Ranges(ranges) if !ranges.is_empty() => Some(Elements::Ranges),
        _ => None,
    }
}

fn rules<'a>(old: &'a RuleSet, new: &'a RuleSet, changes: &mut Vec<Change<'a>>) {
    let is_same = |name: &String| {
        new.chains.get(name).map(|chain| &chain.rules) == old.chains.get(name).map(|chain| &chain.rules)
    };
    let emptied = old.chains.iter().filter(|(name, chain)| !is_same(name) && !chain.rules.is_empty());
    changes.extend(emptied.map(|(name, _)| Change::FlushChain(name)));
    for (name, chain) in new.chains.iter().filter(|(name, _)| !is_same(name)) {
        changes.extend(chain.rules.iter().map(|rule| Change::AddRule(name, rule)));
    }
}
