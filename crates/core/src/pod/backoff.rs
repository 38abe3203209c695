//! How long to wait before something that failed is tried again: ten seconds, twice as long each time, five minutes at most,
//! and from the beginning after ten minutes without a failure. As kubelets do for crashing containers and failing pulls.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::clock;

const FIRST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_mins(5);
const FORGOTTEN: Duration = Duration::from_mins(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Backoff {
    pub delay: Duration,
    /// When it was last tried.
    pub tried: Timestamp,
}

impl Backoff {
    /// After one more try at `now`, which follows a failure at `failed`.
    pub fn next(before: Option<Self>, failed: Timestamp, now: Timestamp) -> Self {
        let remembered = before.filter(|before| !before.is_forgotten(failed));
        let delay = remembered.map_or(FIRST, |before| (before.delay * 2).min(LONGEST));
        Self { delay, tried: now }
    }

    /// How long to wait after a failure; nothing for the first one in a while.
    pub fn wait(before: Option<Self>, failed: Timestamp) -> Duration {
        before.filter(|before| !before.is_forgotten(failed)).map_or(Duration::ZERO, |before| before.delay)
    }

    fn is_forgotten(&self, failed: Timestamp) -> bool {
        failed > clock::later(self.tried, FORGOTTEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn waits_double_up_to_five_minutes() {
        let (mut backoff, mut waits) = (None, Vec::new());
        let mut now = 0;
        for _ in 0..8 {
            let wait = Backoff::wait(backoff, at(now));
            waits.push(wait.as_secs());
            let tried = clock::later(at(now), wait);
            backoff = Some(Backoff::next(backoff, at(now), tried));
            now = tried.as_second() + 1;
        }
        assert_eq!(waits, [0, 10, 20, 40, 80, 160, 300, 300]);
    }

    #[test]
    fn ten_minutes_of_running_are_forgiveness() {
        let backoff = Some(Backoff { delay: LONGEST, tried: at(0) });
        assert_eq!(Backoff::wait(backoff, at(600)), LONGEST);
        assert_eq!(Backoff::wait(backoff, at(601)), Duration::ZERO);
        assert_eq!(Backoff::next(backoff, at(601), at(601)).delay, FIRST);
    }
}
