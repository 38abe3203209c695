//! What a child does between `fork` and `exec`, where only system calls are allowed.

#![expect(unsafe_code, reason = "std has no safe way to act between fork and exec")]

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, fchdir, getpid, ioctl_tiocsctty, setpgid, setsid};
use rustix::stdio::stdin;
use rustix::termios::tcsetpgrp;

/// The child leads a session of its own, begins in this directory, and with a terminal takes its standard input for it.
pub(crate) fn own_session(command: &mut Command, directory: OwnedFd, terminal: bool) {
    let prepare = move || {
        setsid()?;
        if terminal {
            ioctl_tiocsctty(stdin())?;
        }
        fchdir(&directory)?;
        Ok(())
    };
    // SAFETY: the closure makes system calls through rustix, which neither allocates nor locks for them.
    unsafe { command.pre_exec(prepare) };
}

/// The child leads a process group, to which the terminal, if there is one, gives what is typed.
pub(crate) fn foreground(command: &mut Command, terminal: bool) {
    let prepare = move || {
        setpgid(None, None)?;
        if terminal {
            take_terminal(getpid())?;
        }
        Ok(())
    };
    // SAFETY: as above; `signal` is on the list of functions that are safe there.
    unsafe { command.pre_exec(prepare) };
}

/// Who takes a terminal from the background is stopped for it, unless it does not mind.
fn take_terminal(group: Pid) -> io::Result<()> {
    // SAFETY: it sets how this process takes one signal, and back again; there is one thread.
    let before = unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
    let taken = tcsetpgrp(stdin(), group);
    // SAFETY: as above.
    unsafe { libc::signal(libc::SIGTTOU, before) };
    Ok(taken?)
}
