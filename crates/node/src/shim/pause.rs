//! The first process of a pid namespace that the containers of a Pod share: it reaps what they leave behind, and nothing
//! else. It has no files, no rights and no view of the machine.

use std::io;

use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, Signal};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{DumpableBehavior, WaitOptions, chdir, pivot_root, set_dumpable_behavior, wait};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_name, set_no_new_privs};

use super::{rootfs, seccomp};
use crate::sys::processes as sys;

/// Returns only if it cannot do that safely.
pub(super) fn wait_for_ever() -> i32 {
    match confine() {
        Ok(()) => reap(),
        Err(_) => 1,
    }
}

fn confine() -> io::Result<()> {
    // What a container finds at /proc/1 must not lead out of the Pod.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_name(c"pause")?;
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(
        "tmpfs",
        rootfs::CGROUPS,
        "tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC,
        None,
    )?;
    chdir(rootfs::CGROUPS)?;
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    sys::close_from(0)?;
    set_no_new_privs(true)?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    seccomp::confine(none).map_err(io::Error::other)
}

fn reap() -> ! {
    let mut children = SigSet::empty();
    children.add(Signal::SIGCHLD);
    loop {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        // Blocked since the shim; a failure means one round more.
        let _ = children.wait();
    }
}
