//! Goes down a path name by name, with a descriptor for each directory, and reads links itself: the way to resolve a path where
//! the kernel cannot stay beneath a directory, and to find the place of something that is not there yet. Each name is opened
//! without following a link, and `..` goes back to the directory that the walk came from, so whoever changes the tree meanwhile
//! can make it fail or find something else inside, but not lead it out.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, mkdirat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::root::Root;

/// As many as the kernel follows.
const MOST_LINKS: usize = 40;
/// Each level holds a descriptor.
const DEEPEST: usize = 256;
const DIRECTORY: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const DIRECTORY_MODE: u32 = 0o755;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follow {
    /// Also a link at the end.
    Last,
    /// A link at the end is what is meant.
    Parents,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Fails,
    /// Directories on the way are made.
    Made,
}

/// A directory and a name in it; no name means the directory itself.
pub(crate) struct Place {
    pub(crate) directory: OwnedFd,
    pub(crate) name: Option<OsString>,
}

impl Place {
    pub(crate) fn open(&self, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.directory, self.name_or_self(), flags, Mode::empty())
    }

    /// Of a link, not of what it leads to.
    pub(crate) fn stat(&self) -> Result<Stat, Errno> {
        statat(&self.directory, self.name_or_self(), AtFlags::SYMLINK_NOFOLLOW)
    }

    fn name_or_self(&self) -> &OsStr {
        self.name.as_deref().unwrap_or(OsStr::new("."))
    }
}

struct Walk<'a> {
    root: &'a Root,
    /// Where it is, from the root down.
    directories: Vec<OwnedFd>,
    /// What is left to do, the next at the end.
    left: Vec<OsString>,
    links: usize,
    missing: Missing,
}

pub(super) fn walk(
    root: &Root,
    names: &[OsString],
    follow: Follow,
    missing: Missing,
) -> Result<Place, Errno> {
    let left = names.iter().rev().cloned().collect();
    let mut walk = Walk { root, directories: Vec::new(), left, links: 0, missing };
    while let Some(name) = walk.left.pop() {
        let last = walk.left.is_empty();
        if let Some(name) = walk.step(name, last, follow)? {
            return Ok(Place {
                directory: walk.here().try_clone_to_owned().map_err(errno)?,
                name: Some(name),
            });
        }
    }
    Ok(Place { directory: walk.here().try_clone_to_owned().map_err(errno)?, name: None })
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

impl Walk<'_> {
    fn here(&self) -> BorrowedFd<'_> {
        self.directories.last().map_or_else(|| self.root.directory(), AsFd::as_fd)
    }

    /// Takes one name; gives it back when the walk has arrived.
    fn step(&mut self, name: OsString, last: bool, follow: Follow) -> Result<Option<OsString>, Errno> {
        match name.as_bytes() {
            b"" | b"." => return Ok(None),
            b".." => return self.directories.pop().map(|_| None).ok_or(Errno::XDEV),
            _ if last && follow == Follow::Parents => return Ok(Some(name)),
            _ => {}
        }
        match statat(self.here(), &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
                self.follow(&name).map(|()| None)
            }
            Ok(_) | Err(Errno::NOENT) if last => Ok(Some(name)),
            Ok(_) => self.enter(&name).map(|()| None),
            Err(Errno::NOENT) if self.missing == Missing::Made => {
                self.make(&name)?;
                self.enter(&name).map(|()| None)
            }
            Err(error) => Err(error),
        }
    }

    fn follow(&mut self, name: &OsStr) -> Result<(), Errno> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Errno::LOOP);
        }
        let target = readlinkat(self.here(), name, Vec::new())?;
        let mut target = OsString::from_vec(target.into_bytes());
        if target.as_bytes().starts_with(b"/") {
            target = self.root.back(Path::new(&target)).ok_or(Errno::XDEV)?.to_owned();
            self.directories.clear();
        }
        let names = target.as_bytes().split(|byte| *byte == b'/').rev();
        self.left.extend(names.map(|name| OsStr::from_bytes(name).to_owned()));
        Ok(())
    }

    fn enter(&mut self, name: &OsStr) -> Result<(), Errno> {
        if self.directories.len() >= DEEPEST {
            return Err(Errno::NAMETOOLONG);
        }
        let directory = openat(self.here(), name, DIRECTORY, Mode::empty())?;
        self.directories.push(directory);
        Ok(())
    }

    /// That somebody else made it meanwhile is as good.
    fn make(&self, name: &OsStr) -> Result<(), Errno> {
        match mkdirat(self.here(), name, Mode::from_raw_mode(DIRECTORY_MODE)) {
            Err(Errno::EXIST) => Ok(()),
            other => other,
        }
    }
}
