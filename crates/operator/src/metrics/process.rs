//! What the kernel knows about this process.

use std::fmt::Error;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// The kernel counts time in hundredths of a second, for user space on every machine.
const TICKS: f64 = 100.0;

#[derive(Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        let rows = [
            ("process_start_time_seconds", "When the process began, since 1970", started()),
            ("process_resident_memory_bytes", "Memory in use", kibibytes("VmRSS:")),
            ("process_virtual_memory_bytes", "Memory that may be in use", kibibytes("VmSize:")),
            ("process_open_fds", "Open files and connections", open_files()),
        ];
        for (name, help, value) in rows {
            if let Some(value) = value {
                let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
                ConstGauge::new(value).encode(metric)?;
            }
        }
        let Some(seconds) = stat().as_deref().and_then(busy) else { return Ok(()) };
        let (name, help) = ("process_cpu_seconds", "Time that processors have spent on this");
        let metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(seconds).encode(metric)
    }
}

fn stat() -> Option<String> {
    fs::read_to_string("/proc/self/stat").ok()
}

fn started() -> Option<f64> {
    let boot: f64 = line("/proc/stat", "btime")?.parse().ok()?;
    Some(boot + ticks_since_boot(&stat()?)? / TICKS)
}

fn ticks_since_boot(stat: &str) -> Option<f64> {
    field(stat, 22)
}

/// Seconds for the program and, on its behalf, in the kernel.
fn busy(stat: &str) -> Option<f64> {
    Some((field(stat, 14)? + field(stat, 15)?) / TICKS)
}

/// The second field is the program's name, which may hold anything, up to the last bracket.
fn field(stat: &str, number: usize) -> Option<f64> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(number - 3)?.parse().ok()
}

fn kibibytes(word: &str) -> Option<f64> {
    let kibibytes: f64 = line("/proc/self/status", word)?.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024.0)
}

fn open_files() -> Option<f64> {
    let count = u32::try_from(fs::read_dir("/proc/self/fd").ok()?.count()).ok()?;
    Some(f64::from(count))
}

/// What follows a word at the beginning of a line.
fn line(path: &str, word: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix(word)).map(|rest| rest.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_brackets_and_spaces_in_its_name_has_a_start() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 1 0 4242 1 2 3";
        assert_eq!(ticks_since_boot(stat), Some(4242.0));
        assert_eq!(busy(stat), Some(0.03));
    }

    #[test]
    fn this_process_has_memory_and_began_before_now() {
        let now = f64::from(u32::try_from(jiff::Timestamp::now().as_second()).unwrap());
        assert!(kibibytes("VmRSS:").unwrap() > 0.0);
        assert!(started().unwrap() <= now + 1.0 && started().unwrap() > now - 1_000_000_000.0);
    }
}
