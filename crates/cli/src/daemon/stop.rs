//! Tells the daemon of a data directory to end, and waits until it has.

use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::lock::holder;

/// The process that has ended, if there was one. Blocks.
pub(crate) fn stop(data_dir: &Path, most: Duration) -> Result<Option<Pid>> {
    while let Some(pid) = holder(data_dir)? {
        let process = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(Errno::SRCH) => continue,
            other => other.context("cannot watch the daemon")?,
        };
        // It may have ended, and its number may be another's by now; who holds the lock still has it.
        if holder(data_dir)? != Some(pid) {
            continue;
        }
        pidfd_send_signal(&process, Signal::TERM).with_context(|| format!("cannot stop process {pid}"))?;
        let mut ended = [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)];
        let most = Timespec::try_from(most).context("such a long time cannot be waited for")?;
        if poll(&mut ended, Some(&most)).context("cannot wait for the daemon")? == 0 {
            bail!(
                "process {pid} was told to end and has not; `kill -9 {pid}` ends it, and loses nothing stored"
            );
        }
        return Ok(Some(pid));
    }
    Ok(None)
}
