//! A claim that has asked for a Sandbox and has not left yet.

use jiff::Timestamp;

use super::{Asker, Ticket};
use crate::object::Key;
use crate::views::Request;

#[derive(Debug)]
pub(super) struct Claimant {
    pub(super) key: Key,
    pub(super) request: Request,
    /// Its place among claims that wait for the same, from when it first asked.
    pub(super) turn: Ticket,
    pub(super) since: Timestamp,
    pub(super) state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Idle,
    Waiting {
        expects: Ticket,
        until: Timestamp,
    },
    Holding(Ticket),
    /// It has waited once and in vain, and does not wait again.
    GaveUp,
}

impl Claimant {
    pub(super) fn new(asker: &Asker, request: &Request, turn: Ticket, now: Timestamp) -> Self {
        Self { key: asker.key.clone(), request: request.clone(), turn, since: now, state: State::Idle }
    }

    /// Whether it takes what was made from this template. From a pool, it takes whatever the pool has.
    pub(super) fn takes(&self, template: &str) -> bool {
        match &self.request {
            Request::Pool(_) => true,
            Request::Template { template: wanted, .. } => wanted == template,
            Request::Fresh { .. } => false,
        }
    }
}
