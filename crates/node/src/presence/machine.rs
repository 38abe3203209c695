//! What this machine is and has, and how much of it is left.

use std::fs;
use std::io;
use std::path::Path;

/// What is kept free of memory, and below which there is pressure: as kubelets have it by default.
pub(super) const MEMORY_KEPT: u64 = 100 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) processors: u64,
    /// Bytes, of which `available` can be had without swapping.
    pub(super) memory: u64,
    pub(super) available: u64,
    pub(super) disk: Disk,
    pub(super) pids: Pids,
    pub(super) system: System,
}

/// The file system that the node's directory is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Disk {
    pub(super) bytes: u64,
    pub(super) free: u64,
    pub(super) inodes: u64,
    pub(super) inodes_free: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pids {
    pub(super) most: u64,
    pub(super) taken: u64,
}

/// What it calls itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct System {
    pub(super) architecture: String,
    pub(super) kernel: String,
    pub(super) distribution: String,
    pub(super) machine_id: String,
    pub(super) product_id: String,
    pub(super) boot_id: String,
}

impl Machine {
    /// Blocks. `root` need not be there yet.
    pub(super) fn read(root: &Path) -> io::Result<Self> {
        let memory = fs::read_to_string("/proc/meminfo")?;
        Ok(Self {
            processors: std::thread::available_parallelism()?.get() as u64,
            memory: kibibytes(&memory, "MemTotal:") * 1024,
            available: kibibytes(&memory, "MemAvailable:") * 1024,
            disk: Disk::read(root)?,
            pids: Pids::read()?,
            system: System::read(),
        })
    }
}

impl Disk {
    fn read(root: &Path) -> io::Result<Self> {
        let there = root.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
        let found = rustix::fs::statvfs(there)?;
        Ok(Self {
            bytes: found.f_blocks * found.f_frsize,
            free: found.f_bavail * found.f_frsize,
            inodes: found.f_files,
            inodes_free: found.f_favail,
        })
    }
}

impl Pids {
    fn read() -> io::Result<Self> {
        let number =
            |path: &str| Ok::<u64, io::Error>(fs::read_to_string(path)?.trim().parse().unwrap_or(u64::MAX));
        let most = number("/proc/sys/kernel/pid_max")?.min(number("/proc/sys/kernel/threads-max")?);
        Ok(Self { most, taken: threads(&fs::read_to_string("/proc/loadavg")?) })
    }
}

impl System {
    fn read() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let machine_id = text("/etc/machine-id");
        let product = Some(text("/sys/class/dmi/id/product_uuid")).filter(|uuid| !uuid.is_empty());
        Self {
            architecture: architecture(std::env::consts::ARCH).to_owned(),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            distribution: distribution(&text("/etc/os-release")),
            product_id: product.unwrap_or_else(|| machine_id.clone()),
            machine_id,
            boot_id: text("/proc/sys/kernel/random/boot_id"),
        }
    }
}

fn kibibytes(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse().unwrap_or_default()
}

/// Of `0.20 0.18 0.12 1/80 11206`, the number after the slash.
fn threads(load: &str) -> u64 {
    let all = load.split(' ').nth(3).and_then(|field| field.split_once('/'));
    all.and_then(|(_, all)| all.parse().ok()).unwrap_or_default()
}

fn distribution(text: &str) -> String {
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or("Linux");
    name.trim_matches(['"', '\'']).to_owned()
}

/// As Go spells it, and with it Kubernetes.
fn architecture(name: &str) -> &str {
    match name {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// A machine with enough of everything.
#[cfg(test)]
pub(super) mod fixture {
    use super::*;

    pub(in super::super) fn machine() -> Machine {
        Machine {
            processors: 2,
            memory: 8 << 30,
            available: 4 << 30,
            disk: Disk { bytes: 1 << 40, free: 1 << 39, inodes: 1000, inodes_free: 900 },
            pids: Pids { most: 1000, taken: 100 },
            system: System { architecture: "amd64".into(), kernel: "6.18".into(), ..System::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_lists_are_read() {
        let memory = "MemTotal:        8131324 kB\nMemFree:          100 kB\nMemAvailable:    4000 kB\n";
        assert_eq!((kibibytes(memory, "MemTotal:"), kibibytes(memory, "MemAvailable:")), (8_131_324, 4000));
        assert_eq!(threads("0.20 0.18 0.12 1/80 11206\n"), 80);
        assert_eq!(distribution("NAME=x\nPRETTY_NAME=\"Debian 12\"\n"), "Debian 12");
        assert_eq!(architecture("x86_64"), "amd64");
    }

    #[test]
    fn this_machine_has_something_of_everything() {
        let machine = Machine::read(Path::new("/nonexistent/yet")).unwrap();
        assert!(machine.processors > 0 && machine.memory > machine.available && machine.available > 0);
        assert!(machine.disk.bytes > machine.disk.free && machine.pids.most > machine.pids.taken);
        assert!(!machine.system.kernel.is_empty() && !machine.system.boot_id.is_empty());
    }
}
