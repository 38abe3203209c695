//! Terminals of containers, made by the container's own /dev/pts: to its programs they are as real as any.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, Uid, fstat, fstatfs, open};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::sys::processes as sys;

/// Both ends of a terminal.
pub(super) struct Terminal {
    pub(super) master: OwnedFd,
    pub(super) slave: OwnedFd,
}

/// Made where this process is, which must be in the container's mount namespace already.
pub(super) fn make() -> io::Result<Terminal> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let master = open("/dev/pts/ptmx", flags, Mode::empty())?;
    check(&master)?;
    unlockpt(&master)?;
    // By descriptor, not by name: what the name leads to is the container's to say.
    let slave = ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    Ok(Terminal { master, slave })
}

/// It must be the device that it seems to be, not a file that the image has put there.
fn check(master: &OwnedFd) -> io::Result<()> {
    const DEVPTS: i64 = 0x1cd1;
    let is_device = fstat(master)?.st_rdev == rustix::fs::makedev(5, 2);
    if is_device && fstatfs(master)?.f_type == DEVPTS {
        return Ok(());
    }
    Err(io::Error::other("/dev/pts/ptmx is not the terminal multiplexer"))
}

/// Becomes the process's terminal, and its user's. It must lead a session.
pub(super) fn adopt(slave: &OwnedFd, user: u32) -> io::Result<()> {
    rustix::fs::fchown(slave, Some(Uid::from_raw(user)), None)?;
    rustix::process::ioctl_tiocsctty(slave)?;
    (0..3).try_for_each(|number| sys::install_descriptor(slave.as_fd(), number))
}

pub(super) fn resize(terminal: impl AsFd, rows: u16, columns: u16) -> io::Result<()> {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(terminal, size)?)
}
