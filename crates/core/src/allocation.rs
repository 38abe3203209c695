//! The book of warm Sandboxes and of the claims that want one: who gets which, who waits for the next, and who is better
//! off with a fresh one. A synchronous state machine in memory; nothing here is true until the Sandbox's owner has changed
//! on the server, and all of it can be rebuilt from what is there.
//!
//! Leaves to its caller which Sandboxes may be handed out at all (owned by a pool, not stale where that matters, not
//! stuck), the transfer itself, and waking claims.

mod asking;
mod claimant;
mod estimate;
mod line;
mod reach;
mod shelf;
mod stock;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::object::{Key, Uid};
use crate::views::Request;
use claimant::{Claimant, State};
use estimate::Estimate;
use line::Line;
use shelf::Shelf;

/// A Sandbox of a pool that may be handed to a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub sandbox: Key,
    pub uid: Uid,
    /// The name of the pool that owns it.
    pub pool: Arc<str>,
    /// The name of the template it was made from, which need not be what the pool uses today.
    pub template: Arc<str>,
    /// Empty until its Pod is bound to a node.
    pub node: Arc<str>,
    pub progress: Progress,
    /// When its start began.
    pub started: Timestamp,
}

impl Member {
    fn pool_key(&self) -> Key {
        self.sandbox.sibling(&self.pool)
    }

    fn template_key(&self) -> Key {
        self.sandbox.sibling(&self.template)
    }
}

/// How far a member's start has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Progress {
    /// It has no address yet, and is of no use to a claim.
    Starting,
    /// It has an address and is not Ready. Second best.
    Reachable,
    /// It has an address and is Ready.
    Ready,
}

/// A claim, as the book knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    pub key: Key,
    pub uid: Uid,
}

/// What a claim is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// This one is yours, and nobody else's until it is given back.
    Adopt(Member),
    /// One is under way that should be Ready before a fresh one would be. Ask again when woken, or then.
    Wait {
        until: Timestamp,
    },
    Cold(Cold),
}

/// Why a claim is better off with a fresh Sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cold {
    /// It asked for a fresh one.
    Asked,
    /// The pool is not there.
    NoPool,
    /// The pool is to have no members.
    PoolOff,
    /// No member is left, and none is under way.
    Empty,
    /// All that are under way are expected by claims that came earlier, or take longer than they should.
    NothingSoon,
    /// What it waited for did not come in time.
    Waited,
}

/// The answer to a claim, and other claims that have got something by its asking.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Asked {
    pub answer: Answer,
    pub wake: Vec<Key>,
}

/// An order of arrival, of members and claims alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Ticket(u64);

/// A member and where it is.
#[derive(Debug)]
struct Slot {
    member: Member,
    place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// Its pool is unknown or off.
    Aside,
    Shelved,
    /// On its shelf, and expected by the claim of this UID.
    Promised(Uid),
    /// In the hands of the claim of this UID.
    Handed(Uid),
}

#[derive(Debug, Default)]
struct Pool {
    /// How many members it wants; unknown until somebody has said so.
    wanted: Option<usize>,
    members: BTreeSet<Ticket>,
}

impl Pool {
    fn is_on(&self) -> bool {
        self.wanted.is_some_and(|wanted| wanted > 0)
    }
}

#[derive(Debug, Default)]
pub struct Book {
    issued: u64,
    members: BTreeMap<Ticket, Slot>,
    tickets: HashMap<Key, Ticket>,
    pools: BTreeMap<Key, Pool>,
    shelves: BTreeMap<(Key, Arc<str>), Shelf>,
    /// The pools that have a shelf of a template.
    stocked: BTreeMap<Key, BTreeSet<Key>>,
    claimants: HashMap<Uid, Claimant>,
    line: Line,
    /// How long Sandboxes take to start, by template; none yet where nothing was observed.
    estimates: BTreeMap<Key, Option<Estimate>>,
    handed: usize,
}

impl Book {
    /// How much is written in the book, of all sorts.
    pub fn size(&self) -> usize {
        let Self { issued: _, members, tickets, pools, shelves, stocked, claimants, line, estimates, handed } =
            self;
        let members = members.len() + tickets.len() + pools.len() + shelves.len() + stocked.len() + handed;
        members + claimants.len() + line.size() + estimates.len()
    }

    fn estimate(&self, template: &Key) -> Option<&Estimate> {
        self.estimates.get(template)?.as_ref()
    }

    /// How many members are in the book and in nobody's hands.
    pub fn len(&self) -> usize {
        self.members.len() - self.handed
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A pool is there and wants so many members. One that wants none gives none.
    #[must_use]
    pub fn pool_is(&mut self, pool: &Key, wanted: usize, now: Timestamp) -> Vec<Key> {
        self.set_pool(pool, Some(wanted), now)
    }

    /// A pool is gone. Its members go after it, one by one.
    #[must_use]
    pub fn pool_is_gone(&mut self, pool: &Key, now: Timestamp) -> Vec<Key> {
        let woken = self.set_pool(pool, None, now);
        self.forget_pool(pool);
        woken
    }

    /// A template is there. Only of those it is remembered how long their Sandboxes take.
    pub fn template_is(&mut self, template: &Key) {
        self.estimates.entry(template.clone()).or_default();
    }

    /// A template is gone, and with it what is known about how long its Sandboxes take.
    pub fn template_is_gone(&mut self, template: &Key) {
        self.estimates.remove(template);
    }

    /// A member is there, or has changed. Says which claims have got something by it.
    #[must_use]
    pub fn offer(&mut self, member: Member, now: Timestamp) -> Vec<Key> {
        let known = self.tickets.get(&member.sandbox).copied();
        let Some(ticket) = known else { return self.enter(member, now) };
        let slot = &self.members[&ticket];
        let moved = (&slot.member.uid, &slot.member.pool, &slot.member.template)
            != (&member.uid, &member.pool, &member.template);
        if moved {
            let mut woken = self.withdraw(&member.sandbox, now);
            woken.extend(self.enter(member, now));
            return woken;
        }
        self.learn(&slot.member.clone(), &member, now);
        self.lift(ticket);
        self.slot(ticket).member = member;
        self.put(ticket, now)
    }

    /// A member is gone, or not to be handed out any more, or a claim's for good.
    #[must_use]
    pub fn withdraw(&mut self, sandbox: &Key, now: Timestamp) -> Vec<Key> {
        let Some(ticket) = self.tickets.remove(sandbox) else { return Vec::new() };
        self.lift(ticket);
        let slot = self.members.remove(&ticket).expect("every ticket has a member");
        self.leave_pool(&slot.member.pool_key(), ticket);
        match slot.place {
            Place::Aside | Place::Shelved => Vec::new(),
            Place::Promised(claim) => self.promise_again(&claim, now),
            Place::Handed(claim) => {
                self.handed -= 1;
                self.claimant(&claim).state = State::Idle;
                Vec::new()
            }
        }
    }

    /// Whether a claim has this member in its hands, or waits for it.
    pub fn is_expected(&self, sandbox: &Key) -> bool {
        let slot = self.tickets.get(sandbox).and_then(|ticket| self.members.get(ticket));
        slot.is_some_and(|slot| matches!(slot.place, Place::Promised(_) | Place::Handed(_)))
    }

    /// How long a start took: of a member, or of a fresh Sandbox.
    pub fn observe_start(&mut self, template: &Key, took: SignedDuration) {
        match self.estimates.get_mut(template) {
            Some(Some(known)) => known.add(took),
            Some(unknown) => *unknown = Some(took.into()),
            None => {}
        }
    }

    /// What this claim is to do.
    pub fn ask(&mut self, asker: &Asker, request: &Request, now: Timestamp) -> Asked {
        let wake = self.enrol(asker, request, now);
        Asked { answer: self.answer(&asker.uid, request, now), wake }
    }

    /// The claim could not take what it was handed. It keeps its turn.
    #[must_use]
    pub fn give_back(&mut self, claim: &Uid, now: Timestamp) -> Vec<Key> {
        let State::Holding(ticket) = self.state(claim) else { return Vec::new() };
        self.claimant(claim).state = State::Idle;
        self.slot(ticket).place = Place::Aside;
        self.handed -= 1;
        self.put(ticket, now)
    }

    /// The claim has its Sandbox, or wants none any more. What it still holds goes to the next.
    #[must_use]
    pub fn leave(&mut self, claim: &Uid, now: Timestamp) -> Vec<Key> {
        let woken = self.give_back(claim, now);
        self.stop_waiting(claim, State::Idle);
        self.claimants.remove(claim);
        woken
    }
}
