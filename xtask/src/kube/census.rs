//! Finds a cluster's processes by the mark they carry in their environment. No list of process ids is kept, so none can
//! be stale: what runs is what `/proc` says.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// The environment variable that says whose a process is; its value is the cluster's directory.
pub(crate) const MARK: &str = "ASB_KUBE_CLUSTER";

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) program: String,
}

/// The processes that the cluster's supervisor started, and the supervisor; not what runs inside Pods.
pub(crate) fn processes(directory: &Path) -> Result<Vec<Process>> {
    let mark = format!("{MARK}={}", directory.display());
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").context("list processes")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(environment) = fs::read(entry.path().join("environ")) else { continue };
        if carries(&environment, &mark) {
            found.push(Process { pid, program: program(&entry.path()) });
        }
    }
    Ok(found)
}

/// A process being started shows no mark for a moment, so one look that finds nothing is not enough.
const LOOKS: u32 = 2;

/// Ends all of them without asking, and waits until they are gone with everything they held.
pub(crate) fn end(directory: &Path) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(20);
    let (mut dying, mut quiet) = (BTreeSet::new(), 0);
    loop {
        let living = processes(directory)?;
        dying.extend(living.iter().map(|process| process.pid));
        dying.retain(|pid| !is_gone(*pid));
        quiet = if living.is_empty() && dying.is_empty() { quiet + 1 } else { 0 };
        if quiet == LOOKS {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "these processes do not end: {living:?} {dying:?}");
        // The shell's own `kill`, since a machine may lack the program. It may lose the race against their end.
        if !living.is_empty() {
            let pids = living.iter().map(|process| process.pid.to_string());
            Command::new("sh").args(["-c", "kill -KILL \"$@\" 2>/dev/null", "kill"]).args(pids).status()?;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// A killed process loses its environment, and with it the mark, before it closes its sockets; only when its last
/// thread is a zombie or reaped does it hold nothing any more.
fn is_gone(pid: u32) -> bool {
    let process = Path::new("/proc").join(pid.to_string());
    let Ok(threads) = fs::read_dir(process.join("task")) else { return true };
    let state = fs::read_to_string(process.join("stat")).unwrap_or_default();
    let is_zombie = state.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
    is_zombie && threads.count() <= 1
}

fn carries(environment: &[u8], mark: &str) -> bool {
    environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
}

fn program(process: &Path) -> String {
    let path = fs::read_link(process.join("exe")).unwrap_or_default();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.trim_end_matches(" (deleted)").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_matched_whole() {
        let environment = b"PATH=/bin\0ASB_KUBE_CLUSTER=/var/tmp/a\0";
        assert!(carries(environment, "ASB_KUBE_CLUSTER=/var/tmp/a"));
        assert!(!carries(environment, "ASB_KUBE_CLUSTER=/var/tmp"));
    }

    /// A process that was just spawned has no environment to read for a moment.
    fn appear(directory: &Path) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while processes(directory).unwrap().is_empty() {
            assert!(Instant::now() < deadline, "the process never showed its mark");
            thread::yield_now();
        }
    }

    #[test]
    fn ending_a_cluster_ends_its_processes_and_no_other() {
        let directory = std::env::temp_dir().join(format!("asb-census-{}", std::process::id()));
        let mut ours = Command::new("sleep").arg("60").env(MARK, &directory).spawn().unwrap();
        let mut other = Command::new("sleep").arg("60").env(MARK, directory.join("x")).spawn().unwrap();
        appear(&directory);
        let waiting = thread::spawn(move || ours.wait().unwrap());
        end(&directory).unwrap();
        assert!(!waiting.join().unwrap().success());
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
