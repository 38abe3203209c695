//! The system calls that no crate offers safely, each behind a function that cannot be misused.

#![expect(unsafe_code, reason = "these system calls have no safe wrapper in the crates we use")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::process::Pid;
use seccompiler::sock_filter;

/// Which side of a fork this is.
pub(crate) enum Forked {
    Child,
    Parent(Offspring),
}

/// A process that was forked here.
#[derive(Debug)]
pub(crate) struct Offspring {
    pub(crate) pid: Pid,
    pub(crate) pidfd: OwnedFd,
}

/// Forks with `flags` of clone, the child being born in a cgroup of version 2 if one is given.
///
/// Only for programs with one thread: the child goes on with everything the parent had.
pub(crate) fn fork(flags: libc::c_int, cgroup: Option<BorrowedFd<'_>>) -> io::Result<Forked> {
    debug_assert!(threads() == 1, "a fork leaves the other threads behind, with the locks that they hold");
    let mut pidfd: RawFd = -1;
    let arguments = clone_arguments(flags, cgroup, &mut pidfd);
    // SAFETY: the arguments are valid for the call; without CLONE_VM the child has memory of its own, so that
    // nothing here is shared with it, and no other thread of this program exists that could hold a lock.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of_val(&arguments)) };
    if pid == 0 {
        return Ok(Forked::Child);
    }
    // A number below zero is no process, and says that there is none.
    let Some(pid) = i32::try_from(pid).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw) else {
        return Err(io::Error::last_os_error());
    };
    // SAFETY: the kernel has just put a new descriptor there, which nobody else knows.
    Ok(Forked::Parent(Offspring { pid, pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) } }))
}

/// Beyond the flags that fit into an int.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

fn clone_arguments(
    flags: libc::c_int,
    cgroup: Option<BorrowedFd<'_>>,
    pidfd: &mut RawFd,
) -> libc::clone_args {
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = u64::from((flags | libc::CLONE_PIDFD).cast_unsigned());
    arguments.pidfd = ptr::from_mut(pidfd).addr() as u64;
    // A sibling takes its parent's.
    if flags & libc::CLONE_PARENT == 0 {
        arguments.exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
    }
    if let Some(cgroup) = cgroup {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = u64::from(cgroup.as_raw_fd().cast_unsigned());
    }
    arguments
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count)
}

/// Ends this process without running anything that its parent has left to run at the end.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: takes no memory and does not return.
    unsafe { libc::_exit(code) }
}

/// What to change about a mount.
#[derive(Clone, Copy, Default)]
pub(crate) struct MountAttributes<'a> {
    pub(crate) set: u64,
    pub(crate) ids: Option<BorrowedFd<'a>>,
    pub(crate) recursive: bool,
}

/// Changes a detached mount.
pub(crate) fn mount_setattr(mount: BorrowedFd<'_>, change: MountAttributes<'_>) -> io::Result<()> {
    let mut attributes = libc::mount_attr { attr_set: change.set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    if let Some(ids) = change.ids {
        attributes.attr_set |= libc::MOUNT_ATTR_IDMAP;
        attributes.userns_fd = u64::from(ids.as_raw_fd().cast_unsigned());
    }
    let recursive = if change.recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: both pointers are valid for the call, the path being an empty string.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw const attributes,
            size_of_val(&attributes),
        )
    };
    check(result)
}

/// Puts a filter on this process and on all that it becomes.
pub(crate) fn install_filter(filter: &[sock_filter]) -> io::Result<()> {
    let len = u16::try_from(filter.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut().cast() };
    // SAFETY: the program is valid for the call and has the layout of the kernel's; the kernel copies it.
    let result =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
    check(result)
}

/// Leaves the session's keys to those who had them.
pub(crate) fn new_session_keyring() -> io::Result<()> {
    const JOIN_SESSION_KEYRING: libc::c_int = 1;
    // SAFETY: a null name asks for a new, anonymous keyring; no memory is passed.
    let result =
        unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, ptr::null::<libc::c_char>()) };
    check(result)
}

/// Closes all descriptors from this one on. Only where nothing that owns one of them will run any more.
pub(crate) fn close_from(first: RawFd) -> io::Result<()> {
    // SAFETY: the callers have opened nothing yet, or are about to execute another program; no owner of a descriptor lives on.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) };
    check(result)
}

/// Closes all descriptors but the standard three and these: what a fork of the shim has no business with. Their owners in
/// the child must never be dropped, so this is for children that end by [`exit`] or by executing another program.
pub(crate) fn close_all_but(keep: &[RawFd]) -> io::Result<()> {
    let mut keep: Vec<u32> = keep.iter().map(|descriptor| descriptor.cast_unsigned()).collect();
    keep.sort_unstable();
    let mut first = 3;
    for descriptor in keep.into_iter().chain([libc::c_uint::MAX]) {
        if descriptor > first {
            // SAFETY: as above, no owner of these lives on in this process.
            check(unsafe { libc::syscall(libc::SYS_close_range, first, descriptor - 1, 0) })?;
        }
        first = first.max(descriptor.saturating_add(1));
    }
    Ok(())
}

/// Makes `descriptor` known as `number`, also to the next program.
pub(crate) fn install_descriptor(descriptor: BorrowedFd<'_>, number: RawFd) -> io::Result<()> {
    // SAFETY: the callers are about to execute another program, and say which numbers it finds.
    let result = unsafe { libc::dup2(descriptor.as_raw_fd(), number) };
    check(result.into())
}

/// As [`install_descriptor`], but closed in the next program. The descriptor at `number` was no one's.
pub(crate) fn move_descriptor(descriptor: &impl AsFd, number: RawFd) -> io::Result<OwnedFd> {
    let from = descriptor.as_fd().as_raw_fd();
    // SAFETY: as above; where it already is at that number, its flags are set.
    let result = unsafe {
        if from == number {
            libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC)
        } else {
            libc::dup3(from, number, libc::O_CLOEXEC)
        }
    };
    check(result.into())?;
    // SAFETY: the number is open, and the caller forgets the descriptor that it came from.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Signals as a program expects to find them: none blocked, none ignored.
pub(crate) fn reset_signals() -> io::Result<()> {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: the default action needs no code of ours. The C library keeps two signals to itself and says so.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: both sets are valid for the calls.
    let result = unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut())
    };
    check(result.into())
}

/// A resource limit of this process, at most its hard limit where that may not be raised.
pub(crate) fn set_limit(resource: u32, soft: u64, hard: u64) -> io::Result<()> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is valid for both calls.
    unsafe {
        check(libc::getrlimit(resource, &raw mut now).into())?;
        let wanted = libc::rlimit { rlim_cur: soft, rlim_max: hard };
        if libc::setrlimit(resource, &raw const wanted) == 0 {
            return Ok(());
        }
        let clamped = libc::rlimit { rlim_cur: soft.min(now.rlim_max), rlim_max: hard.min(now.rlim_max) };
        check(libc::setrlimit(resource, &raw const clamped).into())
    }
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
