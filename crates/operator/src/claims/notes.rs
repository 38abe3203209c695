//! What is remembered about each claim between two looks at it. Lost in a restart without harm: what matters is in the
//! objects.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use asb_core::claim::{FirstReady, Launched, Plan, first_observed};
use asb_core::object::{Key, Uid};
use asb_core::views::ClaimView;
use asb_core::write::Target;
use jiff::Timestamp;

/// When to try again to write what nobody waits for.
pub(super) const LATER: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub(super) struct Note {
    uid: Uid,
    pub(super) first_observed: Timestamp,
    pub(super) launched: Option<Launched>,
    /// What was done for it, and perhaps not, nobody having answered.
    attempt: Option<Attempt>,
    /// What was told of it, and perhaps not, nobody having answered.
    telling: Option<FirstReady>,
    /// Whether the pool knows that it came.
    is_counted: bool,
    /// Whether writes that may wait are under way.
    is_followed_up: bool,
    /// What was written and perhaps not, nobody having answered.
    doubts: Vec<Target>,
}

/// Writes that were to get a claim its Sandbox.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) sandbox: Key,
    pub(super) plan: Plan,
}

#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<HashMap<Key, Note>>);

impl Notes {
    pub(super) fn open(&self, claim: &ClaimView, arrival: Timestamp) -> Note {
        let mut notes = self.notes();
        let note = notes.entry(claim.metadata.key.clone()).or_insert_with(|| Note::new(claim, arrival));
        if note.uid != claim.metadata.uid {
            *note = Note::new(claim, arrival);
        }
        note.clone()
    }

    pub(super) fn launched(&self, claim: &ClaimView, launched: Launched) {
        self.change(&claim.metadata.key, &claim.metadata.uid, |note| note.launched = Some(launched));
    }

    pub(super) fn attempted(&self, claim: &ClaimView, sandbox: Key, plan: Plan) {
        let attempt = Some(Attempt { sandbox, plan });
        self.change(&claim.metadata.key, &claim.metadata.uid, |note| note.attempt = attempt);
    }

    /// What was tried and not answered, once.
    pub(super) fn take_attempt(&self, claim: &ClaimView) -> Option<Attempt> {
        let mut attempt = None;
        self.change(&claim.metadata.key, &claim.metadata.uid, |note| attempt = note.attempt.take());
        attempt
    }

    pub(super) fn tried_to_tell(&self, claim: &ClaimView, first_ready: FirstReady) {
        self.change(&claim.metadata.key, &claim.metadata.uid, |note| note.telling = Some(first_ready));
    }

    /// What was told and not answered, once.
    pub(super) fn take_telling(&self, claim: &ClaimView) -> Option<FirstReady> {
        let mut telling = None;
        self.change(&claim.metadata.key, &claim.metadata.uid, |note| telling = note.telling.take());
        telling
    }

    /// Whether it was not counted before.
    pub(super) fn count(&self, claim: &ClaimView) -> bool {
        let mut is_new = false;
        self.change(&claim.metadata.key, &claim.metadata.uid, |note| {
            is_new = !std::mem::replace(&mut note.is_counted, true);
        });
        is_new
    }

    /// Whether nothing is under way yet.
    pub(super) fn begin_follow_up(&self, claim: &ClaimView) -> bool {
        let mut is_free = false;
        self.change(&claim.metadata.key, &claim.metadata.uid, |note| {
            is_free = !std::mem::replace(&mut note.is_followed_up, true);
        });
        is_free
    }

    pub(super) fn end_follow_up(&self, key: &Key, uid: &Uid) {
        self.change(key, uid, |note| note.is_followed_up = false);
    }

    pub(super) fn doubt(&self, claim: &ClaimView, target: Target) {
        self.change(&claim.metadata.key, &claim.metadata.uid, |note| {
            if !note.doubts.contains(&target) {
                note.doubts.push(target);
            }
        });
    }

    /// What is in doubt about a claim.
    pub(super) fn doubts(&self, key: &Key) -> Vec<Target> {
        self.notes().get(key).map(|note| note.doubts.clone()).unwrap_or_default()
    }

    pub(super) fn resolve(&self, key: &Key, target: &Target) {
        if let Some(note) = self.notes().get_mut(key) {
            note.doubts.retain(|doubt| doubt != target);
        }
    }

    /// The UID of the claim that is gone, if it was known.
    pub(super) fn forget(&self, key: &Key) -> Option<Uid> {
        self.notes().remove(key).map(|note| note.uid)
    }

    pub(crate) fn clear(&self) {
        self.notes().clear();
    }

    pub(crate) fn size(&self) -> usize {
        self.notes().len()
    }

    fn change(&self, key: &Key, uid: &Uid, change: impl FnOnce(&mut Note)) {
        if let Some(note) = self.notes().get_mut(key).filter(|note| note.uid == *uid) {
            change(note);
        }
    }

    fn notes(&self) -> MutexGuard<'_, HashMap<Key, Note>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Note {
    fn new(claim: &ClaimView, arrival: Timestamp) -> Self {
        Self {
            uid: claim.metadata.uid.clone(),
            first_observed: first_observed(claim).unwrap_or(arrival),
            launched: None,
            attempt: None,
            telling: None,
            is_counted: false,
            is_followed_up: false,
            doubts: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use asb_core::views::read;
    use asb_core::write::Kind;
    use serde_json::json;

    use super::*;

    fn claim(uid: &str) -> ClaimView {
        let metadata = json!({"namespace": "team", "name": "claim", "uid": uid, "resourceVersion": "1"});
        read(&json!({"metadata": metadata, "spec": {"warmPoolRef": {"name": "pool"}}})).unwrap().unwrap()
    }

    #[test]
    fn a_doubt_stays_until_it_is_resolved_and_is_nothing_to_a_claim_of_the_same_name() {
        let (notes, first, second) = (Notes::default(), claim("1"), claim("2"));
        let (key, sandbox) = (&first.metadata.key, Target::new(Kind::Sandbox, first.metadata.key.clone()));
        notes.open(&first, Timestamp::UNIX_EPOCH);
        notes.doubt(&first, sandbox.clone());
        notes.doubt(&first, sandbox.clone());
        assert_eq!(notes.doubts(key), std::slice::from_ref(&sandbox));
        notes.resolve(key, &sandbox);
        assert_eq!(notes.doubts(key), []);
        notes.doubt(&first, sandbox);
        notes.open(&second, Timestamp::UNIX_EPOCH);
        assert_eq!(notes.doubts(key), []);
    }
}
