//! What the processes of a cgroup have used.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Cgroup, Error};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Since the start.
    pub cpu_nanoseconds: u64,
    /// All memory that is charged, caches included.
    pub memory_bytes: u64,
    /// Without caches that could be dropped at once: what Kubernetes calls the working set.
    pub working_set_bytes: u64,
    pub pids: u64,
}

impl Cgroup {
    pub fn usage(&self) -> Result<Usage, Error> {
        let memory = self.controller("memory")?;
        let (current, inactive) = if self.unified {
            ("memory.current", "inactive_file")
        } else {
            ("memory.usage_in_bytes", "total_inactive_file")
        };
        let memory_bytes = number(&memory.join(current))?;
        let reclaimable = field(&memory.join("memory.stat"), inactive)?;
        Ok(Usage {
            cpu_nanoseconds: self.cpu_nanoseconds()?,
            memory_bytes,
            working_set_bytes: memory_bytes.saturating_sub(reclaimable),
            pids: number(&self.controller("pids")?.join("pids.current"))?,
        })
    }

    fn cpu_nanoseconds(&self) -> Result<u64, Error> {
        if self.unified {
            return Ok(field(&self.controller("cpu")?.join("cpu.stat"), "usage_usec")? * 1000);
        }
        number(&self.controller("cpuacct")?.join("cpuacct.usage"))
    }

    /// How many processes the kernel has killed for want of memory.
    pub fn oom_kills(&self) -> Result<u64, Error> {
        let file = if self.unified { "memory.events" } else { "memory.oom_control" };
        field(&self.controller("memory")?.join(file), "oom_kill")
    }
}

fn number(path: &Path) -> Result<u64, Error> {
    Ok(read(path)?.trim().parse().unwrap_or(0))
}

/// The value of a line `name value`; nothing is zero.
fn field(path: &Path, name: &str) -> Result<u64, Error> {
    let text = read(path)?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    Ok(value.and_then(|value| value.parse().ok()).unwrap_or(0))
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}
