//! How long many calls took, and what is said of them.

use std::time::{Duration, Instant};

use serde::Serialize;

/// What one connection, or all of them, did.
#[derive(Default)]
pub(crate) struct Tally {
    /// Of those that count: the first ones only warm up.
    pub(crate) times: Vec<Duration>,
    /// All of them, for whoever counts what they cost.
    pub(crate) requests: u64,
    /// Of those that count.
    pub(crate) bytes: u64,
    pub(crate) last: Option<Instant>,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Sample {
    requests: u64,
    per_second: f64,
    /// Microseconds.
    median: f64,
    high: f64,
    mebibytes_per_second: f64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.times.extend(other.times);
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.last = self.last.max(other.last);
    }

    /// From when calls count until the last has ended.
    pub(crate) fn sample(mut self, begin: Instant) -> Sample {
        self.times.sort_unstable();
        let took = self.last.map_or(f64::INFINITY, |last| last.duration_since(begin).as_secs_f64());
        Sample {
            requests: self.requests,
            per_second: float(self.times.len() as u64) / took,
            median: micros(percentile(&self.times, 50)),
            high: micros(percentile(&self.times, 99)),
            mebibytes_per_second: float(self.bytes) / f64::from(1 << 20) / took,
        }
    }
}

/// The smallest that at least so many percent do not exceed.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

#[expect(clippy::cast_precision_loss, reason = "no benchmark counts so far")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_add_up_until_the_last_has_ended() {
        let begin = Instant::now();
        let one = |millis: u64, end: u64| Tally {
            times: vec![Duration::from_millis(millis); 2],
            requests: 3,
            bytes: 1 << 20,
            last: Some(begin + Duration::from_secs(end)),
        };
        let mut all = Tally::default();
        all.add(one(1, 2));
        all.add(one(9, 1));
        let expected =
            Sample { requests: 6, per_second: 2.0, median: 1000.0, high: 9000.0, mebibytes_per_second: 1.0 };
        assert_eq!(all.sample(begin), expected);
    }
}
