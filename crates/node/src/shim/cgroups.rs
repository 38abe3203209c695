//! Cgroups of Pods and containers, of version 1, version 2 and of both at once: limits, usage, who is in one, and the end
//! of all of them.
//!
//! Processes are born in their cgroups or join them by themselves: of version 2 by clone3, of version 1 by writing 0 into
//! `tasks`. To move another process costs the kernel a grace period for each hierarchy, 15 ms in all.

mod freezer;
mod hierarchies;
mod usage;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::plan::Limits;

pub use hierarchies::Hierarchies;
pub use usage::Usage;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read where cgroups are mounted")]
    Discover(#[source] io::Error),
    #[error("this machine has no cgroup controller for {0}")]
    NoController(&'static str),
    #[error("cannot make the cgroup {path}")]
    Create { path: PathBuf, source: io::Error },
    #[error("cannot write {value:?} to {path}")]
    Write { path: PathBuf, value: String, source: io::Error },
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: io::Error },
    #[error("processes of the cgroup {0} do not end")]
    Alive(PathBuf),
    #[error("the cgroup {0} does not freeze")]
    NotFrozen(PathBuf),
    #[error("cannot remove the cgroup {path}")]
    Remove { path: PathBuf, source: io::Error },
}

/// One cgroup, in every hierarchy that we use.
#[derive(Debug)]
pub struct Cgroup {
    /// Directories of version 1, each with the controllers that it has.
    v1: Vec<(Vec<String>, PathBuf)>,
    v2: Option<PathBuf>,
    /// Version 2 has the controllers, not only the processes.
    unified: bool,
}

/// How long dead processes may take to leave.
const PATIENCE: Duration = Duration::from_secs(10);

impl Hierarchies {
    /// Makes the cgroup and its parents where they are missing.
    pub fn create(&self, path: &Path) -> Result<Cgroup, Error> {
        let cgroup = self.cgroup(path);
        for directory in cgroup.directories() {
            fs::create_dir_all(directory)
                .map_err(|source| Error::Create { path: directory.to_owned(), source })?;
        }
        if self.unified {
            self.delegate(path)?;
        }
        Ok(cgroup)
    }

    /// The cgroup of that name, whether or not it exists.
    pub fn cgroup(&self, path: &Path) -> Cgroup {
        let relative = path.strip_prefix("/").unwrap_or(path);
        Cgroup {
            v1: self.v1.iter().map(|(controllers, at)| (controllers.clone(), at.join(relative))).collect(),
            v2: self.v2.as_ref().map(|at| at.join(relative)),
            unified: self.unified,
        }
    }

    /// Has every cgroup above `path` pass its controllers on.
    fn delegate(&self, path: &Path) -> Result<(), Error> {
        let Some(mut directory) = self.v2.clone() else { return Ok(()) };
        for name in path.strip_prefix("/").unwrap_or(path) {
            write(&directory.join("cgroup.subtree_control"), "+cpu +memory +pids")?;
            directory.push(name);
        }
        Ok(())
    }
}

impl Cgroup {
    fn directories(&self) -> impl Iterator<Item = &Path> {
        self.v1.iter().map(|(_, directory)| directory.as_path()).chain(self.v2.as_deref())
    }

    /// The directory whose files control `controller`.
    fn controller(&self, controller: &'static str) -> Result<&Path, Error> {
        if self.unified {
            return self.v2.as_deref().ok_or(Error::NoController(controller));
        }
        let found = self.v1.iter().find(|(controllers, _)| controllers.iter().any(|name| name == controller));
        found.map(|(_, directory)| directory.as_path()).ok_or(Error::NoController(controller))
    }

    /// The directory of version 2, for a process to be born in.
    pub fn birthplace(&self) -> Result<Option<File>, Error> {
        let Some(path) = &self.v2 else { return Ok(None) };
        File::open(path).map(Some).map_err(|source| Error::Read { path: path.clone(), source })
    }

    /// Moves the calling process, which has one thread, into the cgroups of version 1.
    pub fn join(&self) -> Result<(), Error> {
        self.v1.iter().try_for_each(|(_, directory)| write(&directory.join("tasks"), "0"))
    }

    pub fn limit(&self, limits: &Limits) -> Result<(), Error> {
        if let Some(memory) = limits.memory {
            self.limit_memory(memory)?;
        }
        if let Some(pids) = limits.pids {
            write(&self.controller("pids")?.join("pids.max"), &pids.to_string())?;
        }
        if limits.cpu.is_some() || limits.cpu_shares.is_some() {
            self.limit_cpu(limits)?;
        }
        Ok(())
    }

    fn limit_memory(&self, bytes: u64) -> Result<(), Error> {
        let directory = self.controller("memory")?;
        if self.unified {
            write(&directory.join("memory.max"), &bytes.to_string())?;
            write_if_there(&directory.join("memory.swap.max"), "0")?;
            // A container that lost a process at random is worse off than one that ended.
            return write_if_there(&directory.join("memory.oom.group"), "1");
        }
        write(&directory.join("memory.limit_in_bytes"), &bytes.to_string())?;
        write_if_there(&directory.join("memory.memsw.limit_in_bytes"), &bytes.to_string())
    }

    fn limit_cpu(&self, limits: &Limits) -> Result<(), Error> {
        let directory = self.controller("cpu")?;
        if let Some(cpu) = limits.cpu {
            if self.unified {
                write(&directory.join("cpu.max"), &format!("{} {}", cpu.quota, cpu.period))?;
            } else {
                write(&directory.join("cpu.cfs_period_us"), &cpu.period.to_string())?;
                write(&directory.join("cpu.cfs_quota_us"), &cpu.quota.to_string())?;
            }
        }
        match limits.cpu_shares {
            Some(shares) if self.unified => write(&directory.join("cpu.weight"), &weight(shares).to_string()),
            Some(shares) => write(&directory.join("cpu.shares"), &shares.to_string()),
            None => Ok(()),
        }
    }

    /// Ends every process in it and below it, and returns when all are gone.
    pub fn kill(&self) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            let left = self.kill_once()?;
            if left == 0 {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                return Err(Error::Alive(self.name()));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Signals every process once and says how many there were.
    pub fn kill_once(&self) -> Result<usize, Error> {
        if let Some(v2) = self.v2.as_ref().filter(|v2| v2.join("cgroup.kill").exists()) {
            // Frozen processes of version 2 die too.
            write(&v2.join("cgroup.kill"), "1")?;
        }
        self.kill_each()
    }

    /// Without version 2 they are frozen first, so that nothing forks away, and thawed so that they can die.
    fn kill_each(&self) -> Result<usize, Error> {
        if self.processes()?.is_empty() {
            return Ok(0);
        }
        if self.v2.is_none() {
            // Where it does not work, the next round gets those that were forked meanwhile.
            let _ = self.freeze();
        }
        let processes = self.processes()?;
        for pid in &processes {
            // Gone already is what we want.
            let _ = kill_process(*pid, Signal::KILL);
        }
        self.thaw_version_1()?;
        Ok(processes.len())
    }

    /// Everything in it and below it, in any hierarchy.
    pub fn processes(&self) -> Result<Vec<Pid>, Error> {
        let mut found = Vec::new();
        for directory in self.directories() {
            collect(directory, &mut found)
                .map_err(|source| Error::Read { path: directory.to_owned(), source })?;
        }
        found.sort_unstable_by_key(|pid| pid.as_raw_nonzero());
        found.dedup();
        Ok(found)
    }

    /// Removes it and what is below it; to be empty is up to the caller, and may take the dead a moment.
    pub fn remove(&self) -> Result<(), Error> {
        self.directories().try_for_each(|directory| {
            remove_tree(directory).map_err(|source| Error::Remove { path: directory.to_owned(), source })
        })
    }

    /// The directories, each by the name under which a container expects it below /sys/fs/cgroup.
    pub(super) fn places(&self) -> Vec<(PathBuf, &Path)> {
        if self.unified {
            return self.v2.iter().map(|v2| (PathBuf::new(), v2.as_path())).collect();
        }
        let v1 = self.v1.iter().map(|(controllers, at)| (PathBuf::from(controllers.join(",")), at.as_path()));
        v1.chain(self.v2.iter().map(|v2| (PathBuf::from("unified"), v2.as_path()))).collect()
    }

    /// The names of those directly below it, in any hierarchy.
    pub fn children(&self) -> Result<BTreeSet<OsString>, Error> {
        let mut names = BTreeSet::new();
        for directory in self.directories() {
            let found =
                children(directory).map_err(|source| Error::Read { path: directory.to_owned(), source })?;
            names.extend(found.iter().filter_map(|path| path.file_name().map(OsStr::to_owned)));
        }
        Ok(names)
    }

    pub fn exists(&self) -> bool {
        self.directories().any(Path::exists)
    }

    fn name(&self) -> PathBuf {
        self.directories().next().unwrap_or(Path::new("")).to_owned()
    }
}

/// A file descriptor where there is one.
pub(super) fn borrowed(file: Option<&File>) -> Option<BorrowedFd<'_>> {
    file.map(AsFd::as_fd)
}

/// Shares of version 1, of 2 to 262144, as weight of version 2, of 1 to 10000: as Kubernetes does it.
fn weight(shares: u64) -> u64 {
    1 + (shares.clamp(2, 262_144) - 2) * 9999 / 262_142
}

fn collect(directory: &Path, found: &mut Vec<Pid>) -> io::Result<()> {
    let processes = match fs::read_to_string(directory.join("cgroup.procs")) {
        // A cgroup can go while it is looked at.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENODEV)) => return Ok(()),
        other => other?,
    };
    found.extend(processes.lines().filter_map(|line| line.parse().ok().and_then(Pid::from_raw)));
    children(directory)?.iter().try_for_each(|child| collect(child, found))
}

fn remove_tree(directory: &Path) -> io::Result<()> {
    for child in children(directory)? {
        remove_tree(&child)?;
    }
    let start = Instant::now();
    loop {
        match fs::remove_dir(directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            // The dead leave a moment after they were seen to be dead.
            Err(error) if error.kind() == ErrorKind::ResourceBusy && start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
            other => return other,
        }
    }
}

fn children(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn write(path: &Path, value: &str) -> Result<(), Error> {
    let written =
        OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(value.as_bytes()));
    written.map_err(|source| Error::Write { path: path.to_owned(), value: value.to_owned(), source })
}

/// For files that depend on how the kernel was built.
fn write_if_there(path: &Path, value: &str) -> Result<(), Error> {
    if path.exists() { write(path, value) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_become_weights_as_kubernetes_converts_them() {
        assert_eq!([2, 1024, 262_144].map(weight), [1, 39, 10_000]);
    }
}
