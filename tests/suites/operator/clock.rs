//! A clock that goes as the test says: with the time of this machine, ahead of it, or not at all.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use asb_operator::Clock;
use jiff::{SignedDuration, Timestamp};

#[derive(Clone, Debug, Default)]
pub(crate) struct TestClock(Arc<Mutex<Hands>>);

#[derive(Debug, Default)]
struct Hands {
    ahead: SignedDuration,
    stopped_at: Option<Timestamp>,
}

impl TestClock {
    pub(crate) fn stop(&self) {
        let now = self.now();
        self.hands().stopped_at = Some(now);
    }

    pub(crate) fn advance(&self, by: SignedDuration) {
        let mut hands = self.hands();
        hands.ahead += by;
        hands.stopped_at = hands.stopped_at.map(|at| at + by);
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let hands = self.hands();
        hands.stopped_at.unwrap_or_else(|| Timestamp::now() + hands.ahead)
    }
}
