//! Times of many calls, and what is said of them.

use std::io::{Write, stdout};
use std::time::Duration;

use anyhow::{Context, Result};

/// Says how many were done in a time, and how long each took.
pub(crate) fn report(what: &str, mut times: Vec<Duration>, took: Duration) -> Result<()> {
    times.sort_unstable();
    let count = u32::try_from(times.len()).context("too many to count")?;
    let rate = f64::from(count) / took.as_secs_f64();
    let (middle, high) = (percentile(&times, 50), percentile(&times, 99));
    writeln!(stdout(), "{what}\t{rate:.1}\t{:.1}\t{:.1}", micros(middle), micros(high))?;
    Ok(())
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
