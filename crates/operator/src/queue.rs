//! The keys that one controller is to look at: each once however often it is named, never two at a time for one key, the
//! urgent ones first, failed ones after a while.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use asb_core::object::Key;
use tokio::sync::Notify;
use tokio::time::Instant;

/// What goes first. Within one urgency, first come, first served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// Something happened to it just now.
    Live,
    /// It was there when we started; nobody is known to wait for it.
    Backlog,
}

/// What came of looking at a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing more to do until something changes.
    Settled,
    /// Look again at once; should that come to nothing over and over, after a while that grows.
    Again,
    /// Look again after this long, if nothing changes before.
    After(Duration),
    /// It did not work; look again after a while that grows with each failure.
    Retry,
}

const FIRST_RETRY: Duration = Duration::from_millis(5);
const LAST_RETRY: Duration = Duration::from_mins(5);

#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct State {
    ready: BTreeMap<(Urgency, u64), Key>,
    /// Where each ready key stands.
    places: HashMap<Key, (Urgency, u64)>,
    later: BTreeMap<(Instant, u64), Key>,
    /// When each delayed key is due.
    due: HashMap<Key, (Instant, u64)>,
    /// Keys being looked at, and whether they were named again meanwhile.
    running: BTreeMap<Key, Option<Urgency>>,
    failures: HashMap<Key, u32>,
    sequence: u64,
}

impl Queue {
    pub(crate) fn add(&self, key: &Key, urgency: Urgency) {
        if self.state().add(key, urgency) {
            self.wake.notify_one();
        }
    }

    /// The next key to look at. It must be handed back to [`Queue::done`].
    pub(crate) async fn next(&self) -> Key {
        loop {
            let (key, due) = self.state().take(Instant::now());
            if let Some(key) = key {
                // Whoever is woken takes one key; another may be ready for someone else.
                self.wake.notify_one();
                return key;
            }
            let notified = self.wake.notified();
            match due {
                Some(due) => drop(tokio::time::timeout_at(due, notified).await),
                None => notified.await,
            }
        }
    }

    pub(crate) fn done(&self, key: &Key, next: Next) {
        self.state().done(key, next, Instant::now());
        self.wake.notify_one();
    }

    /// Names a key again after a while, unless it comes up before.
    pub(crate) fn remind(&self, key: &Key, delay: Duration) {
        let mut state = self.state();
        if !state.due.contains_key(key) {
            state.delay(key, Instant::now() + delay);
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Forgets everything, also what workers that were stopped had taken.
    pub(crate) fn clear(&self) {
        *self.state() = State::default();
    }

    /// How many keys are ready to be looked at.
    pub(crate) fn depth(&self) -> usize {
        self.state().ready.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether there is something new to take.
    fn add(&mut self, key: &Key, urgency: Urgency) -> bool {
        if let Some(named) = self.running.get_mut(key) {
            *named = Some(named.map_or(urgency, |known| known.min(urgency)));
            return false;
        }
        if let Some(place) = self.places.get(key) {
            if place.0 <= urgency {
                return false;
            }
            self.ready.remove(place);
        }
        let place = (urgency, self.number());
        self.ready.insert(place, key.clone());
        self.places.insert(key.clone(), place);
        true
    }

    fn take(&mut self, now: Instant) -> (Option<Key>, Option<Instant>) {
        while let Some(first) = self.later.first_entry().filter(|first| first.key().0 <= now) {
            let key = first.remove();
            self.due.remove(&key);
            self.add(&key, Urgency::Live);
        }
        let Some((_, key)) = self.ready.pop_first() else {
            return (None, self.later.first_key_value().map(|((due, _), _)| *due));
        };
        self.places.remove(&key);
        // What was due later was decided on what is now old; this look decides anew.
        self.undelay(&key);
        self.running.insert(key.clone(), None);
        (Some(key), None)
    }

    fn done(&mut self, key: &Key, next: Next, now: Instant) {
        let named = self.running.remove(key).flatten();
        match next {
            Next::Settled => drop(self.failures.remove(key)),
            Next::After(delay) => {
                self.failures.remove(key);
                self.delay(key, now + delay);
            }
            Next::Again => match self.fail(key) {
                0 => drop(self.add(key, Urgency::Live)),
                failures => self.delay(key, now + pause(failures - 1)),
            },
            Next::Retry => {
                let failures = self.fail(key);
                self.delay(key, now + pause(failures));
            }
        }
        if let Some(urgency) = named {
            self.add(key, urgency);
        }
    }

    /// How often in a row it had not worked before.
    fn fail(&mut self, key: &Key) -> u32 {
        let failures = self.failures.entry(key.clone()).or_default();
        std::mem::replace(failures, failures.saturating_add(1))
    }

    fn delay(&mut self, key: &Key, due: Instant) {
        self.undelay(key);
        let place = (due, self.number());
        self.later.insert(place, key.clone());
        self.due.insert(key.clone(), place);
    }

    fn undelay(&mut self, key: &Key) {
        if let Some(place) = self.due.remove(key) {
            self.later.remove(&place);
        }
    }

    fn number(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }
}

fn pause(failures: u32) -> Duration {
    FIRST_RETRY.saturating_mul(1 << failures.min(20)).min(LAST_RETRY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::new("team", name)
    }

    async fn next(queue: &Queue) -> String {
        queue.next().await.name.to_string()
    }

    #[tokio::test(start_paused = true)]
    async fn live_keys_overtake_the_backlog_and_each_comes_once() {
        let queue = Queue::default();
        queue.add(&key("old"), Urgency::Backlog);
        queue.add(&key("older"), Urgency::Backlog);
        queue.add(&key("new"), Urgency::Live);
        queue.add(&key("older"), Urgency::Live);
        assert_eq!([next(&queue).await, next(&queue).await, next(&queue).await], ["new", "older", "old"]);
        assert_eq!(queue.depth(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_looked_at_by_one_at_a_time_and_once_more_if_it_changed_meanwhile() {
        let queue = Queue::default();
        queue.add(&key("a"), Urgency::Live);
        let running = queue.next().await;
        queue.add(&key("a"), Urgency::Live);
        assert_eq!(queue.depth(), 0);
        queue.done(&running, Next::Settled);
        assert_eq!(next(&queue).await, "a");
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_of_a_worker_that_was_stopped_can_be_named_again_once_everything_is_forgotten() {
        let queue = Queue::default();
        queue.add(&key("a"), Urgency::Live);
        let _never_handed_back = queue.next().await;
        queue.clear();
        queue.add(&key("a"), Urgency::Live);
        assert_eq!(next(&queue).await, "a");
    }

    /// How many milliseconds each look comes after the one before, given what came of them.
    async fn waits(outcomes: &[Next]) -> Vec<u128> {
        let queue = Queue::default();
        queue.add(&key("a"), Urgency::Live);
        let mut waits = Vec::new();
        for next in outcomes {
            let started = Instant::now();
            let taken = queue.next().await;
            waits.push(started.elapsed().as_millis());
            queue.done(&taken, *next);
        }
        waits
    }

    #[tokio::test(start_paused = true)]
    async fn failures_wait_longer_each_time_and_success_forgets_them() {
        let success = Next::After(Duration::ZERO);
        let outcomes = [Next::Retry, Next::Retry, Next::Retry, success, Next::Retry, Next::Settled];
        assert_eq!(waits(&outcomes).await, [0, 5, 10, 20, 0, 5]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_looked_at_again_at_once_in_vain_waits_longer_each_time() {
        assert_eq!(waits(&[Next::Again; 5]).await, [0, 0, 5, 10, 20]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_comes_before_the_time_that_was_set_and_replaces_it() {
        let queue = Queue::default();
        queue.add(&key("a"), Urgency::Live);
        queue.done(&queue.next().await, Next::After(Duration::from_mins(1)));
        queue.add(&key("a"), Urgency::Live);
        let started = Instant::now();
        queue.done(&queue.next().await, Next::Settled);
        assert_eq!(started.elapsed(), Duration::ZERO);
        let nothing = tokio::time::timeout(Duration::from_mins(10), queue.next()).await;
        assert!(nothing.is_err(), "the earlier time no longer counts");
    }
}
