//! The members of one pool that were made from one template, in the order in which they are handed out: from the node
//! that has most of them, so that the rest stay spread, and there the one that came first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::{Member, Progress, Ticket};

#[derive(Debug, Default)]
pub(super) struct Shelf {
    nodes: BTreeMap<Arc<str>, Node>,
    ready: BTreeSet<Rank>,
    reachable: BTreeSet<Rank>,
    /// Those under way that nobody expects.
    starting: BTreeSet<(Timestamp, Ticket)>,
}

/// The members on one node; those on none yet are together under the empty name.
#[derive(Debug, Default)]
struct Node {
    count: usize,
    ready: BTreeSet<Ticket>,
    reachable: BTreeSet<Ticket>,
}

/// How soon a node is taken from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    count: Reverse<usize>,
    pub(super) first: Ticket,
    node: Arc<str>,
}

impl Shelf {
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(super) fn add(&mut self, ticket: Ticket, member: &Member, is_promised: bool) {
        self.change(&member.node, |node| {
            node.count += 1;
            if let Some(tickets) = node.tickets(member.progress) {
                tickets.insert(ticket);
            }
        });
        if member.progress == Progress::Starting && !is_promised {
            self.release(ticket, member);
        }
    }

    pub(super) fn remove(&mut self, ticket: Ticket, member: &Member) {
        self.change(&member.node, |node| {
            node.count -= 1;
            if let Some(tickets) = node.tickets(member.progress) {
                tickets.remove(&ticket);
            }
        });
        self.promise(ticket, member);
    }

    /// Somebody expects this one.
    pub(super) fn promise(&mut self, ticket: Ticket, member: &Member) {
        self.starting.remove(&(member.started, ticket));
    }

    /// Nobody expects this one any more.
    pub(super) fn release(&mut self, ticket: Ticket, member: &Member) {
        self.starting.insert((member.started, ticket));
    }

    pub(super) fn best(&self, progress: Progress) -> Option<Rank> {
        match progress {
            Progress::Ready => self.ready.first().cloned(),
            Progress::Reachable => self.reachable.first().cloned(),
            Progress::Starting => None,
        }
    }

    /// The member under way that started first since then, if it started before a fresh one could.
    pub(super) fn soonest(&self, since: Timestamp, now: Timestamp) -> Option<(Timestamp, Ticket)> {
        let first = self.starting.range((since, Ticket(0))..).next();
        first.filter(|(started, _)| *started < now).copied()
    }

    fn change(&mut self, name: &Arc<str>, change: impl FnOnce(&mut Node)) {
        let mut node = self.nodes.remove(name).unwrap_or_default();
        if let Some(rank) = node.rank(name, Progress::Ready) {
            self.ready.remove(&rank);
        }
        if let Some(rank) = node.rank(name, Progress::Reachable) {
            self.reachable.remove(&rank);
        }
        change(&mut node);
        self.ready.extend(node.rank(name, Progress::Ready));
        self.reachable.extend(node.rank(name, Progress::Reachable));
        if node.count > 0 {
            self.nodes.insert(Arc::clone(name), node);
        }
    }
}

impl Node {
    fn tickets(&mut self, progress: Progress) -> Option<&mut BTreeSet<Ticket>> {
        match progress {
            Progress::Ready => Some(&mut self.ready),
            Progress::Reachable => Some(&mut self.reachable),
            Progress::Starting => None,
        }
    }

    /// What is on no node is no crowd.
    fn rank(&self, name: &Arc<str>, progress: Progress) -> Option<Rank> {
        let tickets = if progress == Progress::Ready { &self.ready } else { &self.reachable };
        let count = Reverse(if name.is_empty() { 0 } else { self.count });
        tickets.first().map(|first| Rank { count, first: *first, node: Arc::clone(name) })
    }
}
