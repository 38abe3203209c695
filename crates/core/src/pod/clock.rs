//! Waiting for a time, with clocks that may be set: a time that lies before the moment it is counted from has passed, since
//! to wait for it would be to wait for nobody knows how long.

use std::time::Duration;

use jiff::Timestamp;

/// When `after` has passed since a moment: nothing if it has, else when to look again.
pub(super) fn remaining(since: Timestamp, after: Duration, now: Timestamp) -> Option<Timestamp> {
    let due = later(since, after);
    (since <= now && now < due).then_some(due)
}

/// A moment and a while later; the end of time if that is beyond it.
pub(super) fn later(since: Timestamp, after: Duration) -> Timestamp {
    since.saturating_add(after).unwrap_or(Timestamp::MAX)
}

/// Seconds of the API; none are negative.
pub(super) fn seconds(count: i64) -> Duration {
    Duration::from_secs(count.try_into().unwrap_or_default())
}

/// A duration in the words of Go, which users know from messages: `1m20s`.
pub(super) fn spelled(duration: Duration) -> String {
    let (hours, minutes, seconds) =
        (duration.as_secs() / 3600, duration.as_secs() / 60 % 60, duration.as_secs() % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_make_anyone_wait() {
        assert_eq!(remaining(at(10), seconds(5), at(12)), Some(at(15)));
        assert_eq!(remaining(at(10), seconds(5), at(15)), None);
        assert_eq!(remaining(at(10), seconds(5), at(9)), None);
    }

    #[test]
    fn durations_are_spelled_as_go_does() {
        let spelled = |count| spelled(seconds(count));
        assert_eq!(
            [spelled(10), spelled(80), spelled(300), spelled(7260)],
            ["10s", "1m20s", "5m0s", "2h1m0s"]
        );
    }
}
