//! The floor under every durable write: 4 KiB appended and synced, where clusters and stores keep their data.

use std::fs::{self, File};
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::Row;
use crate::{terminal, workspace};

const ROUNDS: usize = 300;

pub(super) fn measure() -> Result<Vec<Row>> {
    let times = times()?;
    Ok(vec![
        Row::new("write and fsync 4 KiB, p50", milliseconds(percentile(&times, 50))),
        Row::new("write and fsync 4 KiB, p99", milliseconds(percentile(&times, 99))),
    ])
}

/// How long the middle one of many takes.
pub(super) fn median() -> Result<Duration> {
    Ok(percentile(&times()?, 50))
}

/// Sorted.
fn times() -> Result<Vec<Duration>> {
    let mut times = terminal::step("measure the disk", || {
        let folder = workspace::cache()?;
        fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        let path = folder.join(format!("bench-disk-{}", std::process::id()));
        let times = write(&mut File::create(&path).with_context(|| format!("creating {}", path.display()))?);
        fs::remove_file(&path).context("removing the file written to")?;
        times
    })?;
    times.sort_unstable();
    Ok(times)
}

fn write(file: &mut File) -> Result<Vec<Duration>> {
    let block = [7; 4096];
    let round = |_| {
        let start = Instant::now();
        file.write_all(&block).and_then(|()| file.sync_data()).context("writing")?;
        Ok(start.elapsed())
    };
    (0..ROUNDS).map(round).collect()
}

/// The smallest of the sorted times that at least so many percent do not exceed.
pub(super) fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_values() {
        let times: Vec<_> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 50), Duration::from_millis(100));
        assert_eq!(percentile(&times, 99), Duration::from_millis(198));
        assert_eq!(percentile(&times[..1], 99), Duration::from_millis(1));
    }
}
