//! Who serves a data directory: the process that holds the lock on a file in it. The kernel takes the lock from a process that
//! ends, however it does, and tells who has it, so there is no number of a process to go stale.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, Pid, fcntl_getlk};

const FILE: &str = "asb.lock";

/// Held for as long as this value lives. A process opens the file only once: the first to be closed ends the lock.
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Nothing if another process has it.
    pub(crate) fn take(data_dir: &Path) -> Result<Option<Self>> {
        let path = data_dir.join(FILE);
        let opened =
            File::options().create(true).truncate(false).read(true).write(true).mode(0o600).open(&path);
        let file = opened.with_context(|| format!("cannot open {}", path.display()))?;
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(Errno::AGAIN | Errno::ACCESS) => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
        }
    }

    /// The same for who cannot go on without.
    pub(crate) fn claim(data_dir: &Path) -> Result<Self> {
        let Some(lock) = Self::take(data_dir)? else {
            let whom = holder(data_dir)?.map_or_else(String::new, |pid| format!(" (process {pid})"));
            bail!(
                "an Agent Sandbox{whom} serves {} already; `asb status` tells about it, `asb down` stops it",
                data_dir.display()
            );
        };
        Ok(lock)
    }
}

/// The process that has it. Not to be called by that process itself: it would lose it.
pub(crate) fn holder(data_dir: &Path) -> Result<Option<Pid>> {
    let path = data_dir.join(FILE);
    let file = match File::options().read(true).write(true).open(&path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        other => other.with_context(|| format!("cannot open {}", path.display()))?,
    };
    let held = fcntl_getlk(&file, &Flock::from(FlockType::WriteLock)).context("cannot ask for the lock")?;
    Ok(held.and_then(|lock| lock.pid))
}
