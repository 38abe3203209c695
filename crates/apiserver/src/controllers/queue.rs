//! What a controller has yet to look at, and when. Pure; the time is an argument.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

/// After the first failure; each one after that doubles it.
const SHORTEST: Duration = Duration::from_millis(50);

const LONGEST: Duration = Duration::from_mins(1);

/// How long to wait after so many failures in a row.
pub(super) fn pause(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    LONGEST.min(SHORTEST * 2_u32.pow(doublings))
}

/// Items in the order in which they came, each at most once, and beside them those that failed.
pub(super) struct Queue<T> {
    order: VecDeque<T>,
    queued: BTreeSet<T>,
    failed: BTreeMap<T, Failure>,
}

#[derive(Clone, Copy)]
struct Failure {
    times: u32,
    again: Instant,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { order: VecDeque::new(), queued: BTreeSet::new(), failed: BTreeMap::new() }
    }
}

impl<T: Ord + Clone> Queue<T> {
    pub(super) fn add(&mut self, items: impl IntoIterator<Item = T>) {
        for item in items {
            if self.queued.insert(item.clone()) {
                self.order.push_back(item);
            }
        }
    }

    /// The next item to look at: one that there is news of, or else one whose pause is over.
    pub(super) fn next(&mut self, now: Instant) -> Option<T> {
        if let Some(item) = self.order.pop_front() {
            self.queued.remove(&item);
            return Some(item);
        }
        self.failed.iter().find(|(_, failure)| failure.again <= now).map(|(item, _)| item.clone())
    }

    pub(super) fn succeeded(&mut self, item: &T) {
        self.failed.remove(item);
    }

    /// Keeps an item for later, and says how much later.
    pub(super) fn failed(&mut self, item: T, now: Instant) -> Duration {
        let failure = self.failed.entry(item).or_insert(Failure { times: 0, again: now });
        failure.times = failure.times.saturating_add(1);
        let pause = pause(failure.times);
        failure.again = now + pause;
        pause
    }

    /// When the next pause is over.
    pub(super) fn again(&self) -> Option<Instant> {
        self.failed.values().map(|failure| failure.again).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_in_their_order_and_once() {
        let mut queue = Queue::default();
        queue.add([3, 1, 3, 2]);
        let now = Instant::now();
        assert_eq!([(); 4].map(|()| queue.next(now)), [Some(3), Some(1), Some(2), None]);
    }

    #[test]
    fn what_fails_comes_again_later_each_time() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        let pauses = [(); 14].map(|()| queue.failed('a', now));
        assert_eq!(pauses[..3], [50, 100, 200].map(Duration::from_millis));
        assert_eq!(pauses[13], LONGEST);
        assert_eq!(queue.next(now), None);
        assert_eq!(queue.again(), Some(now + LONGEST));
        assert_eq!(queue.next(now + LONGEST), Some('a'));
    }

    #[test]
    fn news_of_what_failed_do_not_wait() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.failed('a', now);
        queue.add(['a']);
        assert_eq!(queue.next(now), Some('a'));
        queue.succeeded(&'a');
        assert_eq!((queue.next(now + LONGEST), queue.again()), (None, None));
    }
}
