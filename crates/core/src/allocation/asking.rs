//! Claims: asking, waiting, and expecting members that are under way.

use jiff::{SignedDuration, Timestamp};

use super::claimant::{Claimant, State};
use super::estimate::Estimate;
use super::{Answer, Asker, Book, Cold, Place};
use crate::object::{Key, Uid};
use crate::views::Request;

/// How long a claim waits where nothing is known about how long a start takes.
const PATIENCE_UNKNOWN: SignedDuration = SignedDuration::from_secs(2);
/// However slow starts are, a claim does not wait longer than this for somebody else's.
pub(super) const LONGEST_WAIT: SignedDuration = SignedDuration::from_secs(30);

impl Book {
    /// Knows the claim from now on; one that wants something else than before hands in what it had.
    pub(super) fn enrol(&mut self, asker: &Asker, request: &Request, now: Timestamp) -> Vec<Key> {
        let mut woken = Vec::new();
        if self.claimants.get(&asker.uid).is_some_and(|known| known.request != *request) {
            woken = self.give_back(&asker.uid, now);
            self.stop_waiting(&asker.uid, State::Idle);
            self.claimant(&asker.uid).request = request.clone();
        }
        if !self.claimants.contains_key(&asker.uid) {
            let turn = self.issue();
            self.claimants.insert(asker.uid.clone(), Claimant::new(asker, request, turn, now));
        }
        woken
    }

    pub(super) fn answer(&mut self, claim: &Uid, request: &Request, now: Timestamp) -> Answer {
        if let State::Holding(ticket) = self.state(claim) {
            return Answer::Adopt(self.members[&ticket].member.clone());
        }
        if let Some(why) = self.refusal(&self.claimants[claim].key, request) {
            self.stop_waiting(claim, State::Idle);
            return Answer::Cold(why);
        }
        if let Some(ticket) = self.best(claim) {
            self.stop_waiting(claim, State::Idle);
            self.lift(ticket);
            return self.hand(ticket, claim);
        }
        self.answer_without_member(claim, now)
    }

    pub(super) fn answer_without_member(&mut self, claim: &Uid, now: Timestamp) -> Answer {
        match self.state(claim) {
            // One that came in the future came before the clock was set back, and has waited for nobody knows how long.
            State::Waiting { until, .. } if self.claimants[claim].since <= now && now < until => {
                Answer::Wait { until }
            }
            State::Waiting { .. } | State::GaveUp => {
                self.stop_waiting(claim, State::GaveUp);
                Answer::Cold(Cold::Waited)
            }
            State::Idle | State::Holding(_) => {
                let until = self.patience(&self.claimants[claim]);
                match self.promise(claim, until, now) {
                    true => Answer::Wait { until },
                    false if self.is_stocked(claim) => Answer::Cold(Cold::NothingSoon),
                    false => Answer::Cold(Cold::Empty),
                }
            }
        }
    }

    /// Why a claim gets no member, whatever there is.
    pub(super) fn refusal(&self, claim: &Key, request: &Request) -> Option<Cold> {
        match request {
            Request::Fresh { .. } => Some(Cold::Asked),
            Request::Template { .. } => None,
            Request::Pool(pool) => match self.pools.get(&claim.sibling(pool)) {
                None => Some(Cold::NoPool),
                Some(pool) if pool.wanted.is_none() => Some(Cold::NoPool),
                Some(pool) => (!pool.is_on()).then_some(Cold::PoolOff),
            },
        }
    }

    /// Makes the claim expect the member that started first among those that nobody expects, if it still may wait.
    pub(super) fn promise(&mut self, claim: &Uid, until: Timestamp, now: Timestamp) -> bool {
        let claimant = &self.claimants[claim];
        let Some(ticket) = self.soonest(claimant, now).filter(|_| now < until) else { return false };
        self.line.join(&claimant.key, &claimant.request, claimant.turn, claim);
        let member = self.members[&ticket].member.clone();
        self.shelf(&member).promise(ticket, &member);
        self.slot(ticket).place = Place::Promised(claim.clone());
        self.claimant(claim).state = State::Waiting { expects: ticket, until };
        true
    }

    /// Until when the claim may wait. A wait as long as a start costs at most twice what the better choice would have.
    pub(super) fn patience(&self, claimant: &Claimant) -> Timestamp {
        let templates = self.shelves_of(claimant).map(|(_, template)| claimant.key.sibling(template));
        let usual = templates.filter_map(|template| self.estimate(&template)).map(Estimate::usual).min();
        let patience = usual.unwrap_or(PATIENCE_UNKNOWN).min(LONGEST_WAIT);
        claimant.since.saturating_add(patience).unwrap_or(Timestamp::MAX)
    }

    /// What the claim expected is gone: something else for as long as it was told, or it is woken to go cold.
    pub(super) fn promise_again(&mut self, claim: &Uid, now: Timestamp) -> Vec<Key> {
        let State::Waiting { until, .. } = self.state(claim) else { return Vec::new() };
        self.leave_line(claim);
        self.claimant(claim).state = State::Idle;
        let is_promised = self.promise(claim, until, now);
        if is_promised { Vec::new() } else { vec![self.claimants[claim].key.clone()] }
    }

    pub(super) fn stop_waiting(&mut self, claim: &Uid, then: State) {
        if let State::Waiting { expects, .. } = self.state(claim) {
            self.leave_line(claim);
            let member = self.members[&expects].member.clone();
            self.shelf(&member).release(expects, &member);
            self.slot(expects).place = Place::Shelved;
        }
        if let Some(claimant) = self.claimants.get_mut(claim) {
            claimant.state = then;
        }
    }

    pub(super) fn leave_line(&mut self, claim: &Uid) {
        let claimant = &self.claimants[claim];
        self.line.leave(&claimant.key, &claimant.request, claimant.turn);
    }

    pub(super) fn state(&self, claim: &Uid) -> State {
        self.claimants.get(claim).map_or(State::Idle, |claimant| claimant.state)
    }

    pub(super) fn claimant(&mut self, claim: &Uid) -> &mut Claimant {
        self.claimants.get_mut(claim).expect("whoever holds or expects a member is known")
    }
}
