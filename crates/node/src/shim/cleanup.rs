//! The end of a Pod from its directory alone, whether or not its shim lives: processes, cgroups and files. Can be repeated,
//! and goes on where it was interrupted.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::path::PathBuf;

use nix::fcntl::{FcntlArg, fcntl};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::cgroups::{self, Hierarchies};
use super::directory::{self, Directory};
use super::oci;
use super::plan::SandboxPlan;
use crate::volumes::removal;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Directory(#[from] directory::Error),
    #[error(transparent)]
    Cgroup(#[from] cgroups::Error),
    #[error("cannot end the shim of {0}")]
    Shim(PathBuf, #[source] io::Error),
    #[error("cannot remove {0}")]
    Remove(PathBuf, #[source] io::Error),
}

/// Ends everything of the Pod, and keeps its files.
pub fn end(directory: &Directory) -> Result<(), Error> {
    kill_shim(directory).map_err(|error| Error::Shim(directory.root().to_owned(), error))?;
    // Written before anything was made: without it there is nothing.
    if let Some(plan) = directory.sandbox()? {
        let cgroup = Hierarchies::discover()?.cgroup(&plan.cgroup);
        cgroup.kill()?;
        forget(directory, &plan)?;
        cgroup.remove()?;
    }
    Ok(())
}

/// Has a runtime other than ours let go of what it keeps elsewhere.
fn forget(directory: &Directory, plan: &SandboxPlan) -> Result<(), Error> {
    let Some(program) = oci::Program::of(plan, directory) else { return Ok(()) };
    for attempt in directory.attempts()? {
        program.delete(&attempt).map_err(|error| Error::Shim(directory.root().to_owned(), error))?;
    }
    Ok(())
}

/// Ends everything of the Pod, and removes its directory.
pub fn remove(directory: &Directory) -> Result<(), Error> {
    end(directory)?;
    removal::clear(directory.root()).map_err(|error| Error::Remove(directory.root().to_owned(), error))
}

/// The process that holds the lock is the shim; there is no other way to tell it from one that has taken its number.
pub fn shim(directory: &Directory) -> io::Result<Option<i32>> {
    let file = match File::options().read(true).write(true).open(directory.lock()) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let mut held = super::whole_file();
    fcntl(&file, FcntlArg::F_GETLK(&mut held))?;
    Ok((libc::c_int::from(held.l_type) != libc::F_UNLCK).then_some(held.l_pid))
}

fn kill_shim(directory: &Directory) -> io::Result<()> {
    while let Some(pid) = shim(directory)?.and_then(Pid::from_raw) {
        let process = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(rustix::io::Errno::SRCH) => continue,
            other => other?,
        };
        // It may have ended, and its number may be another's by now; who holds the lock still has it.
        if shim(directory)?.and_then(Pid::from_raw) != Some(pid) {
            continue;
        }
        pidfd_send_signal(&process, Signal::KILL)?;
        poll(&mut [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)], None)?;
    }
    Ok(())
}
