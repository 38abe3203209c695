//! Tries what it takes to hold a Pod, without one: for a machine about which nobody knows yet whether it can. Only for a
//! process with one thread that does nothing else afterwards.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use rustix::thread::CapabilitySet;

use super::cgroups::{self, Hierarchies};
use super::child::{Birth, numbers, spawn};
use super::plan::{CpuQuota, Limits};
use super::rootfs::{self, Layers, Mapping, Stage};
use super::seccomp;
use crate::sys::processes::Offspring;

/// The last range of ids, which no Pod is given before all others are.
const FIRST: u32 = 0xfffe_0000;
const COUNT: u32 = 0x1_0000;

/// As those of a Pod.
pub(crate) struct Namespaces {
    pub(crate) user: OwnedFd,
    pub(crate) network: OwnedFd,
}

/// Makes them, with ids of their own.
pub(crate) fn namespaces() -> io::Result<Namespaces> {
    let (theirs, go) = io::pipe()?;
    let keep = numbers([theirs.as_fd()]);
    let birth = Birth { flags: libc::CLONE_NEWUSER | libc::CLONE_NEWNET, cgroup: None, keep };
    let mut theirs = File::from(OwnedFd::from(theirs));
    let child = spawn(&birth, move || i32::from(theirs.read(&mut [0]).is_err()))?;
    let held = hold(&child);
    drop(go);
    ended(&child)?;
    held
}

fn hold(child: &Offspring) -> io::Result<Namespaces> {
    let proc = PathBuf::from(format!("/proc/{}", child.pid.as_raw_nonzero()));
    let map = format!("0 {FIRST} {COUNT}");
    fs::write(proc.join("uid_map"), &map)?;
    fs::write(proc.join("gid_map"), &map)?;
    let open = |name: &str| File::open(proc.join("ns").join(name)).map(OwnedFd::from);
    Ok(Namespaces { user: open("user")?, network: open("net")? })
}

/// How a child ended.
fn ended(child: &Offspring) -> io::Result<Option<i32>> {
    let status = waitid(WaitId::PidFd(child.pidfd.as_fd()), WaitIdOptions::EXITED)?;
    Ok(status.and_then(|status| status.exit_status()))
}

/// Mounts a root file system as a container's: a layer whose ids are mapped, beneath a writable one, in `folder`.
pub(crate) fn layers(folder: &Path, namespaces: &Namespaces) -> Result<(), rootfs::Error> {
    rootfs::withdraw()?;
    let failed = |source| rootfs::Error::Step { action: "write to", path: folder.to_owned(), source };
    let (layer, stage) = (folder.join("layer"), folder.join("stage"));
    fs::create_dir_all(&layer).map_err(failed)?;
    let mapping = Mapping { namespace: namespaces.user.as_fd(), root: FIRST };
    let layers = Layers { lowest_first: &[layer], writable: &folder.join("writable"), number: 0 };
    let mounted =
        Stage::at(&stage).and_then(|stage| stage.overlay(&layers, &stage.path("rootfs"), Some(mapping)));
    // Whatever was mounted on it goes with it.
    let _ = unmount(&stage, UnmountFlags::DETACH);
    mounted
}

/// Puts the filter of system calls on a child.
pub(crate) fn filter() -> io::Result<()> {
    let confined = || match seccomp::confine(CapabilitySet::empty()) {
        Ok(()) => 0,
        Err(_) => 1,
    };
    match ended(&spawn(&Birth::default(), confined)?)? {
        Some(0) => Ok(()),
        _ => Err(io::Error::other("the filter of system calls cannot be put in force")),
    }
}

/// Makes a cgroup with all limits, and removes it.
pub(crate) fn limits() -> Result<(), cgroups::Error> {
    let name = format!("agent-sandbox-trial-{}", std::process::id());
    let cgroup = Hierarchies::discover()?.create(Path::new(&name))?;
    let limits = Limits {
        memory: Some(64 << 20),
        cpu: Some(CpuQuota { quota: 50_000, period: 100_000 }),
        cpu_shares: Some(512),
        pids: Some(16),
    };
    let limited = cgroup.limit(&limits);
    cgroup.remove()?;
    limited
}
