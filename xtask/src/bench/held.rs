//! What the Sandboxes of a node hold in memory, as the kernel counts it. In kibibytes.

use std::fs;

use anyhow::{Context, Result};

use super::machine::Machine;

/// Memory of processes, shared parts divided by who shares them.
pub(super) struct Held {
    pub(super) shims: u64,
    pub(super) inside: u64,
    pub(super) processes: Vec<u32>,
}

impl Held {
    pub(super) fn by(machine: &Machine) -> Result<Self> {
        let pods = machine.data.join("node/pods").display().to_string();
        let mut held = Self { shims: 0, inside: 0, processes: vec![machine.server().id()] };
        for process in processes()? {
            if is_shim(process, &pods) {
                held.shims += share(process);
                held.processes.push(process);
                for child in descendants(process) {
                    held.inside += share(child);
                    held.processes.push(child);
                }
            }
        }
        Ok(held)
    }

    /// What those hold that run this program.
    pub(super) fn by_program(&self, name: &str) -> u64 {
        let runs_it = |process: &&u32| {
            fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|program| program.trim() == name)
        };
        self.processes.iter().filter(runs_it).map(|process| share(*process)).sum()
    }
}

/// What of the machine's memory could still be had.
pub(super) fn available() -> Result<u64> {
    let said = fs::read_to_string("/proc/meminfo")?;
    let amount = |line: &str| line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?.parse().ok();
    said.lines().find_map(amount).context("a machine without MemAvailable")
}

/// So many mebibytes each.
pub(super) fn each(kibibytes: u64, count: usize) -> f64 {
    mebibytes(kibibytes) / f64::from(u32::try_from(count).unwrap_or(1))
}

pub(super) fn mebibytes(kibibytes: u64) -> f64 {
    f64::from(u32::try_from(kibibytes).unwrap_or(u32::MAX)) / 1024.0
}

fn processes() -> Result<Vec<u32>> {
    let entries = fs::read_dir("/proc")?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

fn is_shim(process: u32, pods: &str) -> bool {
    fs::read(format!("/proc/{process}/cmdline"))
        .is_ok_and(|line| String::from_utf8_lossy(&line).contains(pods))
}

pub(super) fn descendants(process: u32) -> Vec<u32> {
    let said = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    let children = said.split_whitespace().filter_map(|child| child.parse().ok());
    children.flat_map(|child| [vec![child], descendants(child)].concat()).collect()
}

/// Nothing for one that has ended meanwhile.
fn share(process: u32) -> u64 {
    let said = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    let amount = |line: &str| line.strip_prefix("Pss:")?.trim().strip_suffix(" kB")?.parse().ok();
    said.lines().find_map(amount).unwrap_or_default()
}
