//! The claims that wait, first come, first served: in one line per pool, and per template for those that take from any.

use std::collections::BTreeMap;

use super::Ticket;
use crate::object::{Key, Uid};
use crate::views::Request;

/// Lines by what is waited for; in each, claims by their turn.
type Lines = BTreeMap<Key, BTreeMap<Ticket, Uid>>;

#[derive(Debug, Default)]
pub(super) struct Line {
    by_pool: Lines,
    by_template: Lines,
}

impl Line {
    pub(super) fn join(&mut self, claim: &Key, request: &Request, turn: Ticket, uid: &Uid) {
        if let Some((lines, door)) = self.at(claim, request) {
            lines.entry(door).or_default().insert(turn, uid.clone());
        }
    }

    pub(super) fn leave(&mut self, claim: &Key, request: &Request, turn: Ticket) {
        let Some((lines, door)) = self.at(claim, request) else { return };
        let Some(line) = lines.get_mut(&door) else { return };
        line.remove(&turn);
        if line.is_empty() {
            lines.remove(&door);
        }
    }

    /// How many wait.
    pub(super) fn size(&self) -> usize {
        self.by_pool.values().chain(self.by_template.values()).map(BTreeMap::len).sum()
    }

    /// Who waits longest for a member of this pool, made from this template.
    pub(super) fn first(&self, pool: &Key, template: &Key) -> Option<Uid> {
        let lines = [self.by_pool.get(pool), self.by_template.get(template)];
        let firsts = lines.into_iter().flatten().filter_map(BTreeMap::first_key_value);
        firsts.min_by_key(|(turn, _)| **turn).map(|(_, uid)| uid.clone())
    }

    fn at(&mut self, claim: &Key, request: &Request) -> Option<(&mut Lines, Key)> {
        match request {
            Request::Pool(pool) => Some((&mut self.by_pool, claim.sibling(pool))),
            Request::Template { template, .. } => Some((&mut self.by_template, claim.sibling(template))),
            Request::Fresh { .. } => None,
        }
    }
}
