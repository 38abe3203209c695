//! What can be seen without changing anything.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{Access, access, statvfs};
use rustix::process::{PidfdFlags, geteuid, getpid, pidfd_open};
use rustix::thread::{CapabilitySet, capabilities};

use super::{Check, Finding, Verdict};
use crate::volumes::quota::{Enforcement, detect};

/// Overlays take layers with mapped ids from here on.
const OLDEST: (u32, u32) = (5, 19);

/// What the node does as root and that containers around it may have been denied.
const NEEDED: [(CapabilitySet, &str); 7] = [
    (CapabilitySet::CHOWN, "CHOWN"),
    (CapabilitySet::DAC_OVERRIDE, "DAC_OVERRIDE"),
    (CapabilitySet::SETUID, "SETUID"),
    (CapabilitySet::SETGID, "SETGID"),
    (CapabilitySet::NET_ADMIN, "NET_ADMIN"),
    (CapabilitySet::SYS_ADMIN, "SYS_ADMIN"),
    (CapabilitySet::MKNOD, "MKNOD"),
];

/// Below which people soon have trouble.
const DISK: u64 = 2 << 30;
const MEMORY: u64 = 256 << 20;

pub(super) fn rights() -> Finding {
    Finding::of(Check::Root, root())
}

pub(super) fn kernel() -> Finding {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let tried = match version(&release) {
        Some(version) if version >= OLDEST => Ok(format!("Linux {release}")),
        _ => Err(format!("Linux {release} is older than {}.{}", OLDEST.0, OLDEST.1)),
    };
    Finding::of(Check::Kernel, tried)
}

pub(super) fn pidfds() -> Finding {
    let tried = match pidfd_open(getpid(), PidfdFlags::empty()) {
        Ok(_) => Ok("processes can be held by descriptors".to_owned()),
        Err(error) => Err(format!("processes cannot be held by descriptors: {error}")),
    };
    Finding::of(Check::Pidfds, tried)
}

/// In some containers they are there to be read alone.
pub(super) fn settings() -> Finding {
    let place = "/proc/sys/net/ipv4/ip_forward";
    let tried = match (access(place, Access::WRITE_OK), fs::read_to_string(place)) {
        (Ok(()), Ok(value)) if value.trim() == "1" => Ok("the machine forwards packets".to_owned()),
        (Ok(()), Ok(_)) => Ok("forwarding is off, and can be switched on for links of Pods".to_owned()),
        (Err(error), _) => Err(format!("settings of the network cannot be written: {error}")),
        (_, Err(error)) => Err(format!("settings of the network cannot be read: {error}")),
    };
    Finding::of(Check::Settings, tried)
}

pub(super) fn further(folder: &Path) -> Vec<Finding> {
    let mut findings = vec![quotas(folder), disk(folder), memory(), clock()];
    for (check, programs) in [
        (Check::Gvisor, &["runsc"][..]),
        (Check::Kata, &["kata-runtime", "containerd-shim-kata-v2"]),
        (Check::Runc, &["runc", "crun"]),
    ] {
        findings.push(runtime(check, programs));
    }
    findings
}

fn root() -> Result<String, String> {
    if !geteuid().is_root() {
        return Err(format!("this is user {}, and not root", geteuid().as_raw()));
    }
    let has = capabilities(None).map_err(|error| format!("cannot ask for capabilities: {error}"))?.effective;
    let missing: Vec<&str> =
        NEEDED.into_iter().filter(|(needed, _)| !has.contains(*needed)).map(|(_, name)| name).collect();
    if missing.is_empty() {
        return Ok("this is root, with all capabilities that are needed".to_owned());
    }
    Err(format!("this is root without the capabilities {}", missing.join(", ")))
}

/// `6.1.0-13-amd64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|sign: char| !sign.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn quotas(folder: &Path) -> Finding {
    let enforcement = detect(folder);
    let verdict = if enforcement == Enforcement::Enforced { Verdict::Ok } else { Verdict::Warn };
    Finding::new(Check::Quotas, verdict, enforcement.describe())
}

/// A runtime that is not there is no defect: who wants it installs it.
fn runtime(check: Check, programs: &[&str]) -> Finding {
    let found = programs.iter().find_map(|program| find(program));
    let found = found.map_or_else(
        || format!("{} is not installed", programs[0]),
        |path| format!("found at {}", path.display()),
    );
    Finding::new(check, Verdict::Ok, found)
}

/// Where programs usually are, whatever the environment of a daemon says.
fn find(program: &str) -> Option<PathBuf> {
    let folders =
        ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/opt/kata/bin"];
    folders
        .iter()
        .map(|folder| Path::new(folder).join(program))
        .find(|path| access(path, Access::EXEC_OK).is_ok())
}

fn disk(folder: &Path) -> Finding {
    match statvfs(folder) {
        Ok(stat) => {
            let free = stat.f_bavail.saturating_mul(stat.f_frsize);
            enough(Check::Disk, free, DISK, &format!("free in {}", folder.display()))
        }
        Err(error) => Finding::new(Check::Disk, Verdict::Warn, format!("cannot tell: {error}")),
    }
}

fn memory() -> Finding {
    let available = fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    match available {
        Some(bytes) => enough(Check::Memory, bytes, MEMORY, "available"),
        None => Finding::new(Check::Memory, Verdict::Warn, "cannot tell how much is available"),
    }
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

fn enough(check: Check, bytes: u64, least: u64, what: &str) -> Finding {
    let verdict = if bytes < least { Verdict::Warn } else { Verdict::Ok };
    Finding::new(check, verdict, format!("{} MiB {what}", bytes >> 20))
}

/// Certificates are of no use to a machine that believes to be in another time.
fn clock() -> Finding {
    let now = Timestamp::now();
    let is_sane = now.as_second() > 1_735_689_600;
    let verdict = if is_sane { Verdict::Ok } else { Verdict::Warn };
    Finding::new(Check::Clock, verdict, format!("{now:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_kernels_are_read_as_they_come() {
        let releases = ["6.1.0-13-amd64", "5.19.0", "5.4-custom", "nonsense"];
        assert_eq!(releases.map(version), [Some((6, 1)), Some((5, 19)), Some((5, 4)), None]);
    }

    #[test]
    fn memory_is_what_is_available_and_not_what_is_free() {
        assert_eq!(available("MemTotal: 9 kB\nMemFree: 1 kB\nMemAvailable:    2048 kB\n"), Some(2 << 20));
        assert_eq!(available("MemTotal: 9 kB\n"), None);
    }

    #[test]
    fn little_of_something_is_a_warning() {
        let verdicts = [1 << 20, 4 << 30].map(|bytes| enough(Check::Disk, bytes, DISK, "free").verdict);
        assert_eq!(verdicts, [Verdict::Warn, Verdict::Ok]);
    }
}
