//! What processes hold in memory, as the kernel counts it.

use std::fs;

use anyhow::{Context, Result};

use crate::kube::Process;

/// Kibibytes of one process.
pub(super) fn of(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).context("reading a process's status")?;
    let resident = |line: &str| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok();
    status.lines().find_map(resident).context("a process without VmRSS")
}

/// Of all that run these programs.
pub(super) fn of_programs(processes: &[Process], programs: &[&str]) -> Result<u64> {
    let wanted = processes.iter().filter(|process| programs.contains(&process.program.as_str()));
    wanted.map(|process| of(process.pid)).sum()
}
