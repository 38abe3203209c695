//! How often and how soon something that failed is tried again.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Half a minute of patience in all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Retry {
    /// Failures in a row until it is given up. One that got further starts anew.
    pub attempts: u32,
    pub first_wait_milliseconds: u64,
    pub longest_wait_milliseconds: u64,
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 6, first_wait_milliseconds: 500, longest_wait_milliseconds: 30_000 }
    }
}

impl Retry {
    /// Before the attempt after so many failures, unless it is given up. A server that says when to come back is heard,
    /// within bounds.
    pub fn wait(&self, failures: u32, asked: Option<Duration>) -> Option<Duration> {
        if failures >= self.attempts {
            return None;
        }
        let doubled = self.first_wait_milliseconds.saturating_mul(1 << failures.saturating_sub(1).min(20));
        let wait = Duration::from_millis(doubled).max(asked.unwrap_or_default());
        Some(wait.min(Duration::from_millis(self.longest_wait_milliseconds)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_bound_and_end() {
        let retry = Retry { attempts: 4, first_wait_milliseconds: 100, longest_wait_milliseconds: 300 };
        let waits: Vec<_> = (1..5).map(|failures| retry.wait(failures, None)).collect();
        assert_eq!(waits, [Some(100), Some(200), Some(300), None].map(|it| it.map(Duration::from_millis)));
    }

    #[test]
    fn a_server_is_heard_within_bounds() {
        let retry = Retry::default();
        assert_eq!(retry.wait(1, Some(Duration::from_secs(7))), Some(Duration::from_secs(7)));
        assert_eq!(retry.wait(1, Some(Duration::from_hours(9))), Some(Duration::from_secs(30)));
    }
}
