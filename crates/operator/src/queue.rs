//! The keys that one controller is to look at: each once however often it is named, never two at a time for one key, the
//! urgent ones first, failed ones after a while.

mod meter;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use asb_core::object::Key;
use tokio::sync::Notify;
use tokio::time::Instant;

pub(crate) use meter::{Load, Meter};

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
    meter: Meter,
}

#[derive(Debug, Default)]
struct State {
    ready: BTreeMap<(Urgency, u64), Key>,
    /// Where each ready key stands, and since when it is ready.
    places: HashMap<Key, ((Urgency, u64), Instant)>,
    later: BTreeMap<(Instant, u64), Key>,
    /// When each delayed key is due.
    due: HashMap<Key, (Instant, u64)>,
    running: BTreeMap<Key, Look>,
    failures: HashMap<Key, u32>,
    sequence: u64,
}

/// A key that is being looked at.
#[derive(Debug)]
struct Look {
    since: Instant,
    /// Whether it was named again meanwhile, and when.
    named: Option<(Urgency, Instant)>,
}

/// A key that was taken, or when there may be one.
enum Taken {
    Key { key: Key, waited: Duration },
    NothingUntil(Option<Instant>),
}

/// What became of a key that was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Added {
    /// It waits to be looked at.
    Ready,
    /// It waited already, and comes sooner now.
    Sooner,
    /// It is looked at again once the look at it is over.
    Later,
    /// It waited already.
    Known,
}

impl Queue {
    pub(crate) fn add(&self, key: &Key, urgency: Urgency) {
        let added = self.state().add(key, urgency, Instant::now());
        self.count(added);
        if matches!(added, Added::Ready | Added::Sooner) {
            self.wake.notify_one();
        }
    }

    /// The next key to look at. It must be handed back to [`Queue::done`].
    pub(crate) async fn next(&self) -> Key {
        loop {
            let taken = self.take();
            let notified = self.wake.notified();
            match taken {
                Taken::Key { key, waited } => {
                    self.meter.waits.observe(waited.as_secs_f64());
                    // Whoever is woken takes one key; another may be ready for someone else.
                    self.wake.notify_one();
                    return key;
                }
                Taken::NothingUntil(Some(due)) => drop(tokio::time::timeout_at(due, notified).await),
                Taken::NothingUntil(None) => notified.await,
            }
        }
    }

    pub(crate) fn done(&self, key: &Key, next: Next) {
        let now = Instant::now();
        let (took, added) = self.state().done(key, next, now);
        if let Some(took) = took {
            self.meter.looks.observe(took.as_secs_f64());
        }
        if matches!(next, Next::Again | Next::Retry) {
            self.meter.retries.inc();
        }
        self.count(added);
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

    /// How many keys there are, of all sorts.
    pub(crate) fn size(&self) -> usize {
        let state = self.state();
        state.ready.len() + state.later.len() + state.running.len() + state.failures.len()
    }

    /// How many keys are ready to be looked at.
    pub(crate) fn depth(&self) -> usize {
        self.state().ready.len()
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// How much is being looked at.
    pub(crate) fn load(&self) -> Load {
        let (state, now) = (self.state(), Instant::now());
        let times = || state.running.values().map(|look| now.duration_since(look.since).as_secs_f64());
        Load { workers: state.running.len(), total: times().sum(), longest: times().fold(0.0, f64::max) }
    }

    fn take(&self) -> Taken {
        let (taken, due) = self.state().take(Instant::now());
        self.meter.adds.inc_by(due);
        taken
    }

    fn count(&self, added: Added) {
        if matches!(added, Added::Ready | Added::Later) {
            self.meter.adds.inc();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, key: &Key, urgency: Urgency, now: Instant) -> Added {
        if let Some(look) = self.running.get_mut(key) {
            let known = look.named.replace((urgency, now));
            let Some(known) = known else { return Added::Later };
            look.named = Some((known.0.min(urgency), known.1));
            return Added::Known;
        }
        let mut since = now;
        if let Some((place, known_since)) = self.places.get(key) {
            if place.0 <= urgency {
                return Added::Known;
            }
            since = *known_since;
            self.ready.remove(place);
        }
        let place = (urgency, self.number());
        self.ready.insert(place, key.clone());
        match self.places.insert(key.clone(), (place, since)) {
            Some(_) => Added::Sooner,
            None => Added::Ready,
        }
    }

    /// Takes the next key, and says how many came to be due meanwhile.
    fn take(&mut self, now: Instant) -> (Taken, u64) {
        let mut count = 0;
        while let Some(first) = self.later.first_entry().filter(|first| first.key().0 <= now) {
            let (due, key) = (first.key().0, first.remove());
            self.due.remove(&key);
            count += u64::from(self.add(&key, Urgency::Live, due) == Added::Ready);
        }
        let Some((_, key)) = self.ready.pop_first() else {
            return (Taken::NothingUntil(self.later.first_key_value().map(|((due, _), _)| *due)), count);
        };
        let since = self.places.remove(&key).map_or(now, |(_, since)| since);
        // What was due later was decided on what is now old; this look decides anew.
        self.undelay(&key);
        self.running.insert(key.clone(), Look { since: now, named: None });
        (Taken::Key { key, waited: now.duration_since(since) }, count)
    }

    /// How long the look took, and whether the key waits to be looked at again.
    fn done(&mut self, key: &Key, next: Next, now: Instant) -> (Option<Duration>, Added) {
        let look = self.running.remove(key);
        let mut added = Added::Known;
        match next {
            Next::Settled => drop(self.failures.remove(key)),
            Next::After(delay) => {
                self.failures.remove(key);
                self.delay(key, now + delay);
            }
            Next::Again => match self.fail(key) {
                0 => added = self.add(key, Urgency::Live, now),
                failures => self.delay(key, now + pause(failures - 1)),
            },
            Next::Retry => {
                let failures = self.fail(key);
                self.delay(key, now + pause(failures));
            }
        }
        if let Some((urgency, since)) = look.as_ref().and_then(|look| look.named) {
            // It was counted when it was named.
            self.add(key, urgency, since);
        }
        (look.map(|look| now.duration_since(look.since)), added)
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

    #[tokio::test(start_paused = true)]
    async fn a_key_is_counted_when_it_comes_to_wait_and_its_wait_is_timed_from_then() {
        let queue = Queue::default();
        queue.add(&key("a"), Urgency::Backlog);
        tokio::time::advance(Duration::from_secs(1)).await;
        queue.add(&key("a"), Urgency::Live);
        tokio::time::advance(Duration::from_secs(1)).await;
        let running = queue.next().await;
        queue.add(&key("a"), Urgency::Live);
        queue.add(&key("a"), Urgency::Live);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(queue.load(), Load { workers: 1, total: 5.0, longest: 5.0 });
        queue.done(&running, Next::Retry);
        let (meter, waits) = (queue.meter(), queue.meter().waits.sum());
        assert_eq!((meter.adds.get(), meter.retries.get(), waits, meter.looks.sum()), (2, 1, 2.0, 5.0));
        queue.next().await;
        assert_eq!((meter.adds.get(), meter.waits.sum()), (2, 7.0), "it was named five seconds before");
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_waits_from_the_time_at_which_it_is_due() {
        let queue = Queue::default();
        queue.add(&key("a"), Urgency::Live);
        queue.done(&queue.next().await, Next::After(Duration::from_mins(1)));
        tokio::time::advance(Duration::from_secs(63)).await;
        queue.next().await;
        assert_eq!((queue.meter().adds.get(), queue.meter().waits.sum()), (2, 3.0));
    }
}
