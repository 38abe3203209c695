//! When an agent is told to come to an end, and when it is stopped.

use asb_types::tasks::AgentTaskSpec;
use jiff::{SignedDuration, Timestamp};

/// Half an hour, as the platform's requirements have it.
const TIMEOUT_SECONDS: i64 = 1800;
const WRAP_UP_SECONDS: i64 = 60;
/// Of a short timeout the agent keeps most.
const WRAP_UP_SHARE: i64 = 10;

/// The moments of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    pub wrap_up: Timestamp,
    pub deadline: Timestamp,
}

/// How late it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hour {
    /// There is time to work.
    Working,
    /// The agent should come to an end.
    WrapUp,
    /// It has had its time.
    Over,
}

impl Clock {
    pub fn of(spec: &AgentTaskSpec, started: Timestamp) -> Self {
        let timeout = spec.timeout_seconds.unwrap_or(TIMEOUT_SECONDS).max(1);
        let usual = WRAP_UP_SECONDS.min(timeout / WRAP_UP_SHARE);
        let notice = spec.wrap_up_seconds.unwrap_or(usual).clamp(0, timeout);
        let after =
            |seconds| started.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
        Self { wrap_up: after(timeout - notice), deadline: after(timeout) }
    }

    pub fn hour(self, now: Timestamp) -> Hour {
        if now >= self.deadline {
            Hour::Over
        } else if now >= self.wrap_up {
            Hour::WrapUp
        } else {
            Hour::Working
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(timeout: Option<i64>, wrap_up: Option<i64>) -> (i64, i64) {
        let spec = AgentTaskSpec { timeout_seconds: timeout, wrap_up_seconds: wrap_up, ..Default::default() };
        let clock = Clock::of(&spec, Timestamp::UNIX_EPOCH);
        (clock.wrap_up.as_second(), clock.deadline.as_second())
    }

    #[test]
    fn an_agent_has_half_an_hour_and_a_minute_of_it_to_come_to_an_end() {
        assert_eq!(clock(None, None), (1740, 1800));
        assert_eq!(clock(Some(20), None), (18, 20), "a tenth of a short timeout");
        assert_eq!(clock(Some(20), Some(30)), (0, 20), "never more than there is");
        assert_eq!(clock(Some(20), Some(0)), (20, 20));
    }

    #[test]
    fn time_passes() {
        let clock = Clock::of(&AgentTaskSpec::default(), Timestamp::UNIX_EPOCH);
        let hours =
            [0, 1739, 1740, 1799, 1800].map(|second| clock.hour(Timestamp::from_second(second).unwrap()));
        assert_eq!(hours, [Hour::Working, Hour::Working, Hour::WrapUp, Hour::WrapUp, Hour::Over]);
    }
}
