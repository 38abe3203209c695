//! How long things took, and the lines that say so.

use std::io::{Write, stdout};
use std::time::Duration;

/// The times of many rounds of one thing.
#[derive(Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn add(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// The smallest that at least so many percent do not exceed.
    fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100);
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// Two lines: the middle one, and one of the slowest.
    pub(crate) fn say(&self, what: &str, high: usize) {
        say(&format!("{what}, p50"), &milliseconds(self.percentile(50)));
        say(&format!("{what}, p{high}"), &milliseconds(self.percentile(high)));
    }
}

impl FromIterator<Duration> for Times {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Self {
        Self(times.into_iter().collect())
    }
}

pub(crate) fn milliseconds(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
}

pub(crate) fn say(what: &str, value: &str) {
    writeln!(stdout(), "{what}\t{value}").expect("somebody reads");
}
