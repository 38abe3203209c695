//! Walks through directories that a container wrote, and may be writing. Everything is reached by descriptors from the one
//! above it; links are seen, never followed; and no other file system is entered.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;

use super::error::{Error, failed};

/// A directory costs a descriptor while those below it are walked through.
pub(super) const DEEPEST: usize = 250;

/// Something in the tree, held by a descriptor that stands for it alone.
pub(super) struct Node<'a> {
    pub(super) handle: &'a OwnedFd,
    pub(super) stat: Stat,
}

impl Node<'_> {
    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    /// A path to this very thing, whatever has its name by now.
    pub(super) fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.handle.as_raw_fd())
    }
}

type Visit<'a> = &'a mut dyn FnMut(&Node<'_>) -> io::Result<()>;

enum Stop {
    Deep,
    Failed(io::Error),
}

impl From<Errno> for Stop {
    fn from(error: Errno) -> Self {
        Self::Failed(error.into())
    }
}

/// Visits all that is below `root`, and then `root` itself: whoever finds it done finds all done.
pub(super) fn walk(root: &Path, action: &'static str, visit: Visit<'_>) -> Result<(), Error> {
    start(root, visit).map_err(|stop| match stop {
        Stop::Deep => Error::TooDeep(root.to_owned()),
        Stop::Failed(source) => failed(action, root)(source),
    })
}

fn start(root: &Path, visit: Visit<'_>) -> Result<(), Stop> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(CWD, root, flags, Mode::empty())?;
    let stat = fstat(&handle)?;
    descend(&handle, stat.st_dev, 0, visit)?;
    visit(&Node { handle: &handle, stat }).map_err(Stop::Failed)
}

fn descend(directory: &OwnedFd, device: u64, depth: usize, visit: Visit<'_>) -> Result<(), Stop> {
    if depth > DEEPEST {
        return Err(Stop::Deep);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = openat(directory, ".", flags, Mode::empty())?;
    for entry in Dir::new(readable)? {
        let entry = entry?;
        if !is_dots(entry.file_name()) {
            child(directory, entry.file_name(), device, depth, visit)?;
        }
    }
    Ok(())
}

fn child(directory: &OwnedFd, name: &CStr, device: u64, depth: usize, visit: Visit<'_>) -> Result<(), Stop> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = match openat(directory, name, flags, Mode::empty()) {
        // Gone since it was listed.
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    let stat = fstat(&handle)?;
    if stat.st_dev != device {
        return Ok(());
    }
    if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        descend(&handle, device, depth + 1, visit)?;
    }
    visit(&Node { handle: &handle, stat }).map_err(Stop::Failed)
}

pub(super) fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}
