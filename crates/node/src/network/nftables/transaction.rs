//! A list of steps that the kernel takes all at once, or not at all.

use std::collections::BTreeMap;

use asb_core::network::rules::change::{Change, Elements};
use asb_core::network::rules::{Base, Hook, Purpose, Set};

use super::super::netlink::{ACKNOWLEDGE, APPEND, CREATE, Message, REQUEST};
use super::attributes::Attributes;
use super::{rules, sets};

const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 16;
const BATCH_END: u16 = 17;

const NEW_TABLE: u16 = 0;
const REMOVE_TABLE: u16 = 2;
const NEW_CHAIN: u16 = 3;
const REMOVE_CHAIN: u16 = 5;
const NEW_RULE: u16 = 6;
const REMOVE_RULE: u16 = 8;
const NEW_SET: u16 = 9;
const REMOVE_SET: u16 = 11;
const NEW_ELEMENTS: u16 = 12;
const REMOVE_ELEMENTS: u16 = 14;

const KEY: u16 = 1;
const NESTED: u16 = 0x8000;

/// `NFPROTO_INET`.
pub(super) const FAMILY: u8 = 1;

pub(super) struct Transaction<'a> {
    table: &'a str,
    steps: Vec<Message>,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(table: &'a str) -> Self {
        Self { table, steps: Vec::new() }
    }

    /// Makes the table, empty, whether or not it was there.
    pub(super) fn replace_table(&mut self) {
        self.remove_table();
        self.step(NEW_TABLE, CREATE, self.name());
    }

    /// Makes it first: what is not there cannot be removed.
    pub(super) fn remove_table(&mut self) {
        self.step(NEW_TABLE, CREATE, self.name());
        self.step(REMOVE_TABLE, 0, self.name());
    }

    pub(super) fn add(&mut self, changes: &[Change<'_>], known: &BTreeMap<&str, &Set>) {
        for (change, id) in changes.iter().zip(1..) {
            self.change(change, id, known);
        }
    }

    /// Removes one element by its key, as the kernel wrote it.
    pub(super) fn remove_element(&mut self, set: &str, key: &[u8]) {
        let element = Attributes::default().bytes(KEY | NESTED, key);
        let list = Attributes::default().nested(1, element);
        self.step(REMOVE_ELEMENTS, 0, self.name().text(2, set).nested(3, list));
    }

    /// Begin, steps, end. The last step is acknowledged, and a refusal of any other is heard before.
    pub(super) fn messages(mut self) -> Vec<Message> {
        if let Some(last) = self.steps.last_mut() {
            last.flags |= ACKNOWLEDGE;
        }
        let begin = Message { kind: BATCH_BEGIN, flags: REQUEST, payload: header(0, SUBSYSTEM) };
        let end = Message { kind: BATCH_END, ..begin.clone() };
        [begin].into_iter().chain(self.steps).chain([end]).collect()
    }

    fn change(&mut self, change: &Change<'_>, id: u32, known: &BTreeMap<&str, &Set>) {
        match change {
            Change::AddChain(name, base) => self.step(NEW_CHAIN, CREATE, chain(self.name(), name, *base)),
            Change::AddSet(name, set) => self.step(NEW_SET, CREATE, sets::encode(self.table, name, set, id)),
            Change::FlushSet(name) => self.step(REMOVE_ELEMENTS, 0, self.name().text(2, name)),
            Change::RemoveElements(set, name, elements) => {
                self.elements(REMOVE_ELEMENTS, 0, name, set, elements);
            }
            Change::AddElements(set, name, elements) => {
                self.elements(NEW_ELEMENTS, CREATE, name, set, elements);
            }
            Change::FlushChain(name) => self.step(REMOVE_RULE, 0, self.name().text(2, name)),
            Change::AddRule(name, rule) => {
                let expressions = rules::encode(rule, known);
                self.step(NEW_RULE, CREATE | APPEND, self.name().text(2, name).nested(4, expressions));
            }
            Change::RemoveSet(name) => self.step(REMOVE_SET, 0, self.name().text(2, name)),
            Change::RemoveChain(name) => self.step(REMOVE_CHAIN, 0, self.name().text(3, name)),
        }
    }

    fn elements(&mut self, kind: u16, flags: u16, name: &str, set: &Set, elements: &Elements<'_>) {
        for list in sets::elements(set, elements) {
            self.step(kind, flags, self.name().text(2, name).nested(3, list));
        }
    }

    fn name(&self) -> Attributes {
        Attributes::default().text(1, self.table)
    }

    fn step(&mut self, kind: u16, flags: u16, attributes: Attributes) {
        let payload = [header(FAMILY, 0), attributes.into_bytes()].concat();
        self.steps.push(Message { kind: SUBSYSTEM << 8 | kind, flags: flags | REQUEST, payload });
    }
}

/// Family, version, and a number in network order that says which subsystem a batch is for.
pub(super) fn header(family: u8, resource: u16) -> Vec<u8> {
    let [high, low] = resource.to_be_bytes();
    vec![family, 0, high, low]
}

fn chain(table: Attributes, name: &str, base: Option<Base>) -> Attributes {
    let chain = table.text(3, name);
    let Some(base) = base else { return chain };
    let hook = Attributes::default().number(1, number(base.hook)).number(2, base.priority.cast_unsigned());
    let purpose = match base.purpose {
        Purpose::Filter => "filter",
        Purpose::Translate => "nat",
    };
    chain.nested(4, hook).text(7, purpose)
}

fn number(hook: Hook) -> u32 {
    match hook {
        Hook::Prerouting => 0,
        Hook::Input => 1,
        Hook::Forward => 2,
        Hook::Output => 3,
        Hook::Postrouting => 4,
    }
}
