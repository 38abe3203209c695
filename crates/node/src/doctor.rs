//! What this machine can and cannot do for a node. Everything is tried, and what changes a process is tried in one of its own:
//! this program again, which calls [`probe::main`].

pub mod probe;
mod surroundings;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

/// One thing to be known about a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Check {
    Root,
    Kernel,
    Namespaces,
    Layers,
    Cgroups,
    Seccomp,
    Pidfds,
    Network,
    Settings,
    Quotas,
    Gvisor,
    Kata,
    Runc,
    Disk,
    Memory,
    Clock,
}

impl Check {
    /// Whether no node can do without. The others are for those who want what they give.
    pub fn is_essential(self) -> bool {
        use Check::{Cgroups, Kernel, Layers, Namespaces, Network, Pidfds, Root, Seccomp, Settings};
        matches!(self, Root | Kernel | Namespaces | Layers | Cgroups | Seccomp | Pidfds | Network | Settings)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    Ok,
    /// Pods run, and lack something.
    Warn,
    /// No Pod runs.
    Fail,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub check: Check,
    pub verdict: Verdict,
    /// What was seen.
    pub found: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.found)
    }
}

impl Finding {
    fn new(check: Check, verdict: Verdict, found: impl Into<String>) -> Self {
        Self { check, verdict, found: found.into() }
    }

    /// As an attempt went; what is not essential only warns.
    fn of(check: Check, tried: Result<String, String>) -> Self {
        match tried {
            Ok(found) => Self::new(check, Verdict::Ok, found),
            Err(found) if check.is_essential() => Self::new(check, Verdict::Fail, found),
            Err(found) => Self::new(check, Verdict::Warn, found),
        }
    }
}

/// Everything that is to be known, in the order in which one would ask. `root` is where a node is, or would be. Blocks.
pub fn examine(root: &Path) -> Vec<Finding> {
    let mut findings = essential(root);
    findings.extend(surroundings::further(&existing(root)));
    findings.sort_by_key(|finding| finding.check);
    findings
}

/// Whether a node may start: with anything less, a layer of isolation would be missing. Blocks.
pub fn essentials(root: &Path) -> Result<(), Vec<Finding>> {
    let mut findings = essential(root);
    findings.retain(|finding| finding.verdict == Verdict::Fail);
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

/// Without the rights everything else fails for that reason alone, and nothing is learned from it.
fn essential(root: &Path) -> Vec<Finding> {
    let rights = surroundings::rights();
    if rights.verdict == Verdict::Fail {
        return vec![rights, surroundings::kernel()];
    }
    let mut findings = vec![rights, surroundings::kernel(), surroundings::pidfds(), surroundings::settings()];
    findings.extend(experiments(root));
    findings
}

fn experiments(root: &Path) -> Vec<Finding> {
    match experiment(&existing(root)) {
        Ok(findings) => findings,
        Err(error) => {
            let failed = || format!("could not be tried: {error}");
            probe::CHECKS.into_iter().map(|check| Finding::of(check, Err(failed()))).collect()
        }
    }
}

/// Another process of this program, also after an upgrade has replaced its file.
fn experiment(folder: &Path) -> io::Result<Vec<Finding>> {
    let mut command = Command::new("/proc/self/exe");
    command.arg(probe::WORD).arg(folder).env_clear().stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("the process that tries ended with {}", output.status)));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The directory, or the nearest above it that is there already.
fn existing(path: &Path) -> PathBuf {
    path.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_essential_fails_and_the_rest_warns() {
        let verdict = |check| Finding::of(check, Err("no".to_owned())).verdict;
        assert_eq!((verdict(Check::Layers), verdict(Check::Gvisor)), (Verdict::Fail, Verdict::Warn));
        assert!(probe::CHECKS.into_iter().all(Check::is_essential));
    }

    #[test]
    fn a_directory_that_is_not_there_yet_is_judged_by_the_one_above() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(existing(&folder.path().join("a/b")), folder.path());
    }
}
