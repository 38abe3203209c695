//! Forks of the shim: each does one thing, with nothing of the shim's but what it was given, and ends.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::sys::processes::{self as sys, Forked, Offspring};

/// How a child is made.
#[derive(Default)]
pub(super) struct Birth<'a> {
    /// Flags of clone.
    pub(super) flags: libc::c_int,
    /// A cgroup of version 2 to be born in.
    pub(super) cgroup: Option<BorrowedFd<'a>>,
    /// What it needs of the shim's descriptors.
    pub(super) keep: Vec<RawFd>,
}

/// Forks a child that does `work` and exits with its result.
pub(super) fn spawn(birth: &Birth<'_>, work: impl FnOnce() -> i32) -> io::Result<Offspring> {
    match sys::fork(birth.flags, birth.cgroup)? {
        Forked::Parent(offspring) => Ok(offspring),
        Forked::Child => {
            // What the shim would do next must not happen here, whatever goes wrong.
            let code = catch_unwind(AssertUnwindSafe(|| match sys::close_all_but(&birth.keep) {
                Ok(()) => work(),
                Err(_) => BROKEN,
            }));
            sys::exit(code.unwrap_or(BROKEN))
        }
    }
}

const BROKEN: i32 = 70;

/// The numbers of descriptors, to keep.
pub(super) fn numbers<'a>(descriptors: impl IntoIterator<Item = BorrowedFd<'a>>) -> Vec<RawFd> {
    descriptors.into_iter().map(|descriptor| descriptor.as_raw_fd()).collect()
}
