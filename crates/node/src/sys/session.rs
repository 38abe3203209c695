//! Leaves what a process has from whoever started it.

use std::io;

use rustix::process::setsid;

use super::processes::close_from;

/// Leaves the session, so that no terminal reaches this process, and closes all but the standard descriptors, such as locks
/// that the caller's shell holds. To be called first: whatever is open is closed.
pub fn leave() -> io::Result<()> {
    setsid()?;
    // It was executed by another name than its own.
    rustix::thread::set_name(c"asb")?;
    close_from(3)
}
