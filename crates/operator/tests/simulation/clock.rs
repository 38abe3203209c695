//! The time of a schedule. It passes only while everybody waits, so that minutes take no time.

use std::future::pending;

use asb_operator::Clock;
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, timeout_at};

/// Any day will do.
const BEGINNING: i64 = 1_800_000_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct VirtualClock(Instant);

impl VirtualClock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Seconds since the start, for people.
    pub(crate) fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        let elapsed: SignedDuration = self.0.elapsed().try_into().expect("a schedule is short");
        Timestamp::from_second(BEGINNING).expect("a day in range").saturating_add(elapsed).expect("the same")
    }
}

/// Lets the time pass until then.
pub(crate) async fn until(due: Instant) {
    // Whatever never comes will do to wait for.
    let _ = timeout_at(due, pending::<()>()).await;
}
