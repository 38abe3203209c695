//! Opens paths beneath a directory. The kernel resolves them and is told not to leave it.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::{Errno, Result};

const ATTEMPTS: usize = 1000;

pub(super) fn open(root: impl AsFd, path: &Path, flags: OFlags, resolve: ResolveFlags) -> Result<OwnedFd> {
    for _ in 0..ATTEMPTS {
        match openat2(&root, path, flags, Mode::empty(), resolve) {
            // The path climbs, and something was renamed or mounted on the machine meanwhile.
            Err(Errno::AGAIN | Errno::INTR) => {}
            settled => return settled,
        }
    }
    Err(Errno::AGAIN)
}
