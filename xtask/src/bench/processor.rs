//! Who used the processors meanwhile, as the kernel counts it.

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result};

/// The kernel tells processor time in hundredths of a second, on every architecture.
const TICKS: f64 = 100.0;

/// A process that is watched, by what it is called here.
pub(super) type Watched = (&'static str, u32);

/// Processor time used up to a moment.
pub(super) struct Reading {
    at: Instant,
    machine: u64,
    processes: Vec<(&'static str, u64)>,
}

/// Percent of one processor over some time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shares {
    pub(super) processes: Vec<(&'static str, f64)>,
    /// Everybody else on the machine, and the kernel's own work.
    pub(super) rest: f64,
    /// Of the last minute, at the end.
    pub(super) load: f64,
}

impl Reading {
    pub(super) fn take(watched: &[Watched]) -> Result<Self> {
        let machine = fs::read_to_string("/proc/stat").context("reading /proc/stat")?;
        Ok(Self {
            at: Instant::now(),
            machine: busy(&machine).context("/proc/stat says nothing of processors")?,
            processes: watched.iter().map(|(name, pid)| (*name, of_process(*pid))).collect(),
        })
    }

    /// What was used from then on.
    pub(super) fn until(&self, later: &Self) -> Shares {
        let seconds = later.at.duration_since(self.at).as_secs_f64();
        let percent = |ticks: u64| 100.0 * hundredths(ticks) / TICKS / seconds;
        let mut processes: Vec<(&'static str, f64)> = Vec::new();
        let mut used = 0;
        for ((name, before), (_, after)) in self.processes.iter().zip(&later.processes) {
            let ticks = after.saturating_sub(*before);
            used += ticks;
            match processes.iter_mut().find(|it| it.0 == *name) {
                Some(same) => same.1 += percent(ticks),
                None => processes.push((name, percent(ticks))),
            }
        }
        let rest = percent((later.machine - self.machine).saturating_sub(used));
        Shares { processes, rest, load: load() }
    }
}

/// Seconds of a processor that these have used so far.
pub(super) fn seconds(processes: &[u32]) -> f64 {
    hundredths(processes.iter().map(|process| of_process(*process)).sum()) / TICKS
}

#[expect(clippy::cast_precision_loss, reason = "no benchmark takes a million years")]
fn hundredths(ticks: u64) -> f64 {
    ticks as f64
}

/// A process that has ended used nothing more.
fn of_process(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.ok().as_deref().and_then(used).unwrap_or_default()
}

/// User and system time: the 14th and 15th field, counted after the program's name, which may hold anything.
fn used(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// Everything but idling and waiting for disks. What guests use is counted as user time already.
fn busy(stat: &str) -> Option<u64> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let times: Vec<u64> = fields.take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
    let idle = times.get(3)? + times.get(4)?;
    Some(times.iter().sum::<u64>() - idle)
}

pub(super) fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_time_of_a_process_is_found_behind_any_name() {
        let stat = "42 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 50 7 8 20 0";
        assert_eq!(used(stat), Some(200));
        assert_eq!(used("42 (a"), None);
    }

    #[test]
    fn idling_and_waiting_is_not_work() {
        assert_eq!(busy("cpu  10 1 5 1000 200 2 3 4 99 99\ncpu0 1 1"), Some(25));
        assert_eq!(busy("intr 1"), None);
    }

    #[test]
    fn shares_are_of_one_processor_and_leave_a_rest() {
        let start = Instant::now();
        let reading = |seconds, machine, processes: &[(&'static str, u64)]| Reading {
            at: start + Duration::from_secs(seconds),
            machine,
            processes: processes.to_vec(),
        };
        let before = reading(0, 1000, &[("etcd", 100), ("load", 5), ("load", 5)]);
        let after = reading(2, 1300, &[("etcd", 200), ("load", 15), ("load", 25)]);
        let shares = before.until(&after);
        assert_eq!(shares.processes, [("etcd", 50.0), ("load", 15.0)]);
        assert!((shares.rest - 85.0).abs() < 1e-9, "{}", shares.rest);
    }
}
