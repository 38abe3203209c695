//! Sets and their elements as attributes.

use std::net::Ipv4Addr;

use asb_core::network::rules::change::Elements;
use asb_core::network::rules::{Atom, Content, Field, Set, Target};

use super::attributes::Attributes;
use super::expressions::{Verdict, data, verdict_data};

const INTERVAL: u32 = 0x4;
const MAP: u32 = 0x8;
const TIMEOUT: u32 = 0x10;
const FROM_RULES: u32 = 0x20;

/// An attribute holds less than 64 KiB; what comes after begins another message.
const MOST_BYTES: usize = 32 << 10;
const INTERVAL_END: u32 = 1;
const VERDICT_TYPE: u32 = 0xffff_ff00;

/// The bytes of a key's part. Parts begin at multiples of four.
pub(super) fn width(field: Field) -> u32 {
    match field {
        Field::InInterface | Field::OutInterface => 16,
        _ => 4,
    }
}

/// What `nft` calls a part, so that it can show our sets.
fn shown_as(field: Field) -> u32 {
    match field {
        Field::Source | Field::Destination => 7,
        Field::Protocol => 12,
        Field::DestinationPort => 13,
        Field::Lot => 19,
        Field::InInterface | Field::OutInterface => 41,
    }
}

/// The set itself, without elements.
pub(super) fn encode(table: &str, name: &str, set: &Set, id: u32) -> Attributes {
    let flags = match &set.content {
        Content::Keys(_) => 0,
        Content::Ranges(_) => INTERVAL,
        Content::Verdicts(_) => MAP,
        Content::Recent(_) => TIMEOUT | FROM_RULES,
    };
    let length: u32 = match set.fields[..] {
        [Field::Protocol] => 1,
        [Field::DestinationPort] => 2,
        _ => set.fields.iter().map(|field| width(*field)).sum(),
    };
    let kind = set.fields.iter().fold(0, |kind, field| kind << 6 | shown_as(*field));
    let mut written = Attributes::default().text(1, table).text(2, name).number(3, flags);
    written = written.number(4, kind).number(5, length);
    match &set.content {
        Content::Verdicts(_) => written = written.number(6, VERDICT_TYPE).number(7, 0),
        Content::Recent(time) => {
            written = written.long(11, u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        }
        Content::Keys(_) | Content::Ranges(_) => {}
    }
    written.number(10, id)
}

/// Lists of elements, each small enough for one message.
pub(super) fn elements(set: &Set, elements: &Elements<'_>) -> Vec<Attributes> {
    let each: Vec<_> = match (elements, &set.content) {
        (Elements::Keys(keys), _) => {
            keys.iter().map(|(key, remark)| element(key_of(key), None, remark)).collect()
        }
        (Elements::Verdicts(keys), _) => {
            keys.iter().map(|(key, target)| element(key_of(key), Some(target), &target.remark)).collect()
        }
        (Elements::Ranges, Content::Ranges(ranges)) => ranges.iter().flat_map(range).collect(),
        (Elements::Ranges, _) => Vec::new(),
    };
    let mut lists: Vec<Attributes> = Vec::new();
    for one in each {
        let last = lists.pop_if(|list| list.len() < MOST_BYTES).unwrap_or_default();
        lists.push(last.nested(1, one));
    }
    lists
}

fn element(key: Attributes, target: Option<&Target>, remark: &str) -> Attributes {
    let mut element = Attributes::default().nested(1, key);
    if let Some(target) = target {
        element = element.nested(2, verdict_data(Verdict::Goto(&target.chain)));
    }
    if remark.is_empty() { element } else { element.bytes(6, &comment(remark)) }
}

/// What `nft` shows as a comment: type, length, text and a zero.
fn comment(remark: &str) -> Vec<u8> {
    const LONGEST: usize = 120;
    let text: Vec<u8> = remark.bytes().take(LONGEST).chain([0]).collect();
    let length = u8::try_from(text.len()).expect("it was cut above");
    [vec![0, length], text].concat()
}

/// An interval is its first address, and the first behind it as an end. The end of all addresses has none.
fn range((first, last): (Ipv4Addr, Ipv4Addr)) -> impl Iterator<Item = Attributes> {
    let start = Attributes::default().nested(1, data(&first.octets()));
    let after = last.to_bits().checked_add(1).map(Ipv4Addr::from_bits);
    let end =
        after.map(|after| Attributes::default().number(3, INTERVAL_END).nested(1, data(&after.octets())));
    [Some(start), end].into_iter().flatten()
}

fn key_of(key: &[Atom]) -> Attributes {
    let mut bytes = Vec::new();
    for atom in key {
        match atom {
            Atom::Interface(name) => bytes.extend(padded(name)),
            Atom::Address(address) => bytes.extend(address.octets()),
            Atom::Protocol(protocol) => bytes.extend([protocol.number(), 0, 0, 0]),
            Atom::Port(port) => {
                bytes.extend(port.to_be_bytes());
                bytes.extend([0, 0]);
            }
            Atom::Lot(lot) => bytes.extend(lot.to_ne_bytes()),
        }
    }
    data(&bytes)
}

/// An interface's name as the kernel keeps it.
pub(super) fn padded(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (byte, letter) in bytes.iter_mut().zip(name.bytes().take(15)) {
        *byte = letter;
    }
    bytes
}
