//! Members: onto a shelf, off it, into somebody's hands.

use std::sync::Arc;

use jiff::Timestamp;

use super::claimant::State;
use super::shelf::Shelf;
use super::{Answer, Book, Member, Place, Pool, Progress, Slot, Ticket};
use crate::object::{Key, Uid};

impl Book {
    pub(super) fn set_pool(&mut self, pool: &Key, wanted: Option<usize>, now: Timestamp) -> Vec<Key> {
        let known = self.pools.entry(pool.clone()).or_default();
        let was_on = known.is_on();
        known.wanted = wanted;
        let is_as_before = was_on == known.is_on();
        let members = if is_as_before { Vec::new() } else { known.members.iter().copied().collect() };
        members.into_iter().flat_map(|ticket| self.put(ticket, now)).collect()
    }

    pub(super) fn leave_pool(&mut self, pool: &Key, ticket: Ticket) {
        if let Some(known) = self.pools.get_mut(pool) {
            known.members.remove(&ticket);
        }
        self.forget_pool(pool);
    }

    /// Forgets a pool that is gone together with its last member.
    pub(super) fn forget_pool(&mut self, pool: &Key) {
        if self.pools.get(pool).is_some_and(|pool| pool.wanted.is_none() && pool.members.is_empty()) {
            self.pools.remove(pool);
        }
    }

    pub(super) fn enter(&mut self, member: Member, now: Timestamp) -> Vec<Key> {
        let ticket = self.issue();
        self.tickets.insert(member.sandbox.clone(), ticket);
        self.pools.entry(member.pool_key()).or_default().members.insert(ticket);
        self.members.insert(ticket, Slot { member, place: Place::Aside });
        self.put(ticket, now)
    }

    pub(super) fn issue(&mut self) -> Ticket {
        self.issued += 1;
        Ticket(self.issued)
    }

    /// Puts a member where it belongs: to the first who waits for it, or onto its shelf.
    pub(super) fn put(&mut self, ticket: Ticket, now: Timestamp) -> Vec<Key> {
        let Slot { member, place } = &self.members[&ticket];
        let (member, place) = (member.clone(), place.clone());
        let is_on = self.pools.get(&member.pool_key()).is_some_and(Pool::is_on);
        match place {
            Place::Handed(_) => Vec::new(),
            Place::Promised(claim) if !is_on => {
                self.lift(ticket);
                self.slot(ticket).place = Place::Aside;
                self.promise_again(&claim, now)
            }
            _ if !is_on => {
                self.lift(ticket);
                self.slot(ticket).place = Place::Aside;
                Vec::new()
            }
            place => self.put_within_reach(ticket, &member, place, now),
        }
    }

    pub(super) fn put_within_reach(
        &mut self,
        ticket: Ticket,
        member: &Member,
        place: Place,
        now: Timestamp,
    ) -> Vec<Key> {
        let first = self.line.first(&member.pool_key(), &member.template_key());
        if let Some(next) = first.filter(|_| member.progress > Progress::Starting) {
            return self.hand_over(ticket, &next, place, now);
        }
        let is_promised = matches!(place, Place::Promised(_));
        self.stock(member).add(ticket, member, is_promised);
        self.slot(ticket).place = if is_promised { place } else { Place::Shelved };
        Vec::new()
    }

    /// Hands a member to the claim that waits longest. Whoever expected this very one expects another, or is woken too.
    pub(super) fn hand_over(&mut self, ticket: Ticket, next: &Uid, place: Place, now: Timestamp) -> Vec<Key> {
        let other = match place {
            Place::Promised(other) if other != *next => Some(other),
            _ => None,
        };
        if matches!(self.state(next), State::Waiting { expects, .. } if expects == ticket) {
            self.leave_line(next);
        } else {
            self.stop_waiting(next, State::Idle);
        }
        self.hand(ticket, next);
        let mut woken = vec![self.claimants[next].key.clone()];
        woken.extend(other.into_iter().flat_map(|other| self.promise_again(&other, now)));
        woken
    }

    pub(super) fn hand(&mut self, ticket: Ticket, claim: &Uid) -> Answer {
        self.handed += 1;
        self.slot(ticket).place = Place::Handed(claim.clone());
        self.claimant(claim).state = State::Holding(ticket);
        Answer::Adopt(self.members[&ticket].member.clone())
    }

    /// Takes a member off its shelf, if it is on one. What was promised stays promised.
    pub(super) fn lift(&mut self, ticket: Ticket) {
        let Slot { member, place } = &self.members[&ticket];
        if !matches!(place, Place::Shelved | Place::Promised(_)) {
            return;
        }
        let member = member.clone();
        let kept = self.shelf(&member);
        kept.remove(ticket, &member);
        if kept.is_empty() {
            self.unstock(&member);
        }
    }

    pub(super) fn unstock(&mut self, member: &Member) {
        self.shelves.remove(&(member.pool_key(), Arc::clone(&member.template)));
        let template = member.template_key();
        if let Some(pools) = self.stocked.get_mut(&template) {
            pools.remove(&member.pool_key());
            if pools.is_empty() {
                self.stocked.remove(&template);
            }
        }
    }

    pub(super) fn stock(&mut self, member: &Member) -> &mut Shelf {
        self.stocked.entry(member.template_key()).or_default().insert(member.pool_key());
        self.shelves.entry((member.pool_key(), Arc::clone(&member.template))).or_default()
    }

    pub(super) fn shelf(&mut self, member: &Member) -> &mut Shelf {
        let id = (member.pool_key(), Arc::clone(&member.template));
        self.shelves.get_mut(&id).expect("a shelved member has a shelf")
    }

    pub(super) fn slot(&mut self, ticket: Ticket) -> &mut Slot {
        self.members.get_mut(&ticket).expect("every ticket has a member")
    }

    pub(super) fn learn(&mut self, before: &Member, after: &Member, now: Timestamp) {
        if before.progress < Progress::Ready && after.progress == Progress::Ready {
            self.observe_start(&after.template_key(), now.duration_since(after.started));
        }
    }
}
