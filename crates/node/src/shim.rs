//! The program that holds one Pod: its namespaces, containers, output and exit codes. Outlives the daemon.
//!
//! One process with one thread per Pod, made by executing this program again. Whatever changes a process for good (forks,
//! namespaces, ids, mounts) happens in short-lived forks of it; each container is built by one, which joins the
//! container's cgroups first, mounts the root file system in a mount namespace of its own, and calls libcontainer.

pub mod capabilities;
pub mod cgroups;
mod child;
pub mod cleanup;
pub mod client;
mod confinement;
mod connection;
mod container;
mod diagnostics;
pub mod directory;
mod exec;
mod execution;
mod executor;
mod launcher;
mod logs;
mod oci;
mod output;
mod pause;
pub mod plan;
mod pod;
pub mod protocol;
mod report;
mod rootfs;
mod sandbox;
pub mod search;
mod seccomp;
mod server;
mod specification;
mod terminal;
pub(crate) mod trial;

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::ExitCode;

use nix::fcntl::{FcntlArg, fcntl};
use rustix::process::{set_child_subreaper, setsid};

use crate::sys::processes::{self as sys, Forked};
use directory::Directory;
pub(crate) use logs::aside;
use pod::Pod;
use server::Server;

/// Becomes the shim of the Pod in the directory that the argument names; stdin is the first connection. To be called
/// before any thread exists.
///
/// Returns at once in the process that was started, whose child is the shim.
pub fn main(arguments: impl IntoIterator<Item = String>) -> ExitCode {
    let Some(root) = arguments.into_iter().next() else { return ExitCode::from(2) };
    let directory = Directory::new(root);
    match become_shim(&directory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The log of the shim is its stderr.
            let _ = writeln!(io::stderr(), "shim of {}: {error}", directory.root().display());
            ExitCode::FAILURE
        }
    }
}

fn become_shim(directory: &Directory) -> io::Result<()> {
    match sys::fork(0, None)? {
        // The daemon reaps this one; the child is nobody's.
        Forked::Parent(_) => return Ok(()),
        Forked::Child => {}
    }
    // Whoever started the daemon may have left it pipes and locks, which would be held for as long as the Pod lives.
    sys::close_from(3)?;
    setsid()?;
    // Where that is allowed: a machine that is out of memory should end a container and not the one who would tell of it.
    let _ = fs::write("/proc/self/oom_score_adj", "-999");
    set_child_subreaper(Some(rustix::process::getpid()))?;
    let first = take_stdin()?;
    let _lock = lock(directory)?;
    let mut server = Server::new(Pod::new(directory.clone()), listen(&directory.socket())?)?;
    server.accept(first)?;
    server.run()?;
    remove_if_there(&directory.socket())
}

fn take_stdin() -> io::Result<UnixStream> {
    let connection = io::stdin().as_fd().try_clone_to_owned()?;
    let null = File::open("/dev/null")?;
    sys::install_descriptor(null.as_fd(), 0)?;
    Ok(UnixStream::from(connection))
}

/// One shim per directory. Of the kind that forks do not inherit, and that tells who holds it.
fn lock(directory: &Directory) -> io::Result<OwnedFd> {
    let file = File::options().create(true).truncate(false).read(true).write(true).open(directory.lock())?;
    fcntl(&file, FcntlArg::F_SETLK(&whole_file()))?;
    Ok(file.into())
}

fn whole_file() -> libc::flock {
    libc::flock {
        l_type: i16::try_from(libc::F_WRLCK).expect("one of three small numbers"),
        l_whence: i16::try_from(libc::SEEK_SET).expect("one of three small numbers"),
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

/// A path can be longer than an address may be; one through a descriptor is not.
fn listen(path: &Path) -> io::Result<UnixListener> {
    remove_if_there(path)?;
    let (parent, name) = path.parent().zip(path.file_name()).ok_or(ErrorKind::InvalidInput)?;
    let parent = File::open(parent)?;
    UnixListener::bind(Path::new("/proc/self/fd").join(parent.as_raw_fd().to_string()).join(name))
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
