//! What the whole machine uses, as the kernel counts it.

use std::fs;
use std::io::{self, ErrorKind};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Streams;
use super::error::Error;
use super::usage::{LONGEST, Look, SHORTEST, rate};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineUsage {
    /// Of the time over which the use of processors was measured.
    pub window: Duration,
    /// Billionths of a processor.
    pub cpu_nano: u64,
    /// What could not be given to others at once.
    pub memory_bytes: u64,
}

/// The last look.
pub(super) type Meter = Mutex<Option<Look>>;

impl Streams {
    /// Takes a moment where nobody has asked lately.
    pub async fn machine_usage(&self) -> Result<MachineUsage, Error> {
        let failed = |error| Error::Step("read what the machine uses", error);
        let is_fresh = |old: &Look| old.at.elapsed() < LONGEST;
        let old = self.machine.lock().unwrap_or_else(PoisonError::into_inner).filter(is_fresh);
        let old = old.map_or_else(look, Ok).map_err(failed)?;
        tokio::time::sleep(SHORTEST.saturating_sub(old.at.elapsed())).await;
        let new = look().map_err(failed)?;
        *self.machine.lock().unwrap_or_else(PoisonError::into_inner) = Some(new);
        let (cpu_nano, window) = rate(old, new).unwrap_or_default();
        let memory_bytes =
            fs::read_to_string("/proc/meminfo").and_then(|text| memory(&text)).map_err(failed)?;
        Ok(MachineUsage { window, cpu_nano, memory_bytes })
    }
}

fn look() -> io::Result<Look> {
    let cpu_nanoseconds = processors(&fs::read_to_string("/proc/stat")?)?;
    Ok(Look { at: Instant::now(), cpu_nanoseconds })
}

/// The first line, in hundredths of seconds: user, nice, system, idle, waiting for disks, interrupts (2), stolen, and guests,
/// who are counted among the users already.
fn processors(stat: &str) -> io::Result<u64> {
    const TICK: u64 = 10_000_000;
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu ")).ok_or(ErrorKind::InvalidData)?;
    let times = line.split_whitespace().take(8).enumerate().filter(|(place, _)| ![3, 4].contains(place));
    Ok(times.filter_map(|(_, time)| time.parse::<u64>().ok()).sum::<u64>() * TICK)
}

fn memory(meminfo: &str) -> io::Result<u64> {
    let field = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let amounts = field("MemTotal:").zip(field("MemAvailable:"));
    let (total, available) = amounts.ok_or(ErrorKind::InvalidData)?;
    Ok(total.saturating_sub(available) << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_that_wait_are_not_used() {
        let stat = "cpu  1 2 3 1000 2000 4 5 6 7 8\ncpu0 1 2 3 1000 2000 4 5 6 7 8\nintr 1\n";
        assert_eq!(processors(stat).unwrap(), 210_000_000);
        assert!(processors("intr 1\n").is_err());
    }

    #[test]
    fn memory_that_could_be_given_to_others_is_not_used() {
        assert_eq!(memory("MemTotal:  100 kB\nMemFree: 1 kB\nMemAvailable:   40 kB\n").unwrap(), 60 << 10);
    }

    #[tokio::test]
    async fn the_machine_uses_something() {
        let streams = Streams::new("/nowhere".into(), crate::cache::Cache::holding([]));
        let used = streams.machine_usage().await.unwrap();
        assert!(used.memory_bytes > 1 << 20 && used.window >= SHORTEST, "{used:?}");
    }
}
