//! The table itself, in parts by subject.

mod claim;
mod container;
mod lifecycle;
mod pod;
mod scheduling;
mod security;
mod sources;
mod volume;

use super::Kind;

/// All kinds that can be reached through honoured fields.
pub const KINDS: &[&[Kind]] = &[
    pod::KINDS,
    scheduling::KINDS,
    security::KINDS,
    container::KINDS,
    lifecycle::KINDS,
    sources::KINDS,
    volume::KINDS,
    claim::KINDS,
];

pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().copied().flatten().find(|kind| kind.name == name)
}
