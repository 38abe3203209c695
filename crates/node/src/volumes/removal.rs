//! Removes what containers wrote, however deep, and whatever links there are.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::durable::unless_missing;
use super::error::{Error, failed};
use super::tree::{DEEPEST, is_dots};

/// Removes a directory and all below it; one that is not there is removed already. Nothing may be mounted in it.
pub fn remove(path: &Path) -> Result<(), Error> {
    clear(path).map_err(failed("remove", path))
}

/// The same, for those who say themselves what went wrong. Whatever a container wrote is removed by this: what the standard
/// library has for it takes a descriptor and a piece of the stack for each level, and a container makes as many as it likes.
pub(crate) fn clear(path: &Path) -> io::Result<()> {
    clear_unless(path, &|| false)
}

/// The same, until it is to stop: then it is interrupted, and what is left can be removed later.
pub(crate) fn clear_unless(path: &Path, stops: &dyn Fn() -> bool) -> io::Result<()> {
    unless_missing(whole(path, stops).map_err(io::Error::from))
}

fn whole(path: &Path, stops: &dyn Fn() -> bool) -> rustix::io::Result<()> {
    let top = open(CWD, path)?;
    let mut sweep = Sweep { top: &top, moved: 0, stops };
    loop {
        let before = sweep.moved;
        sweep.empty(&top, 0)?;
        if sweep.moved == before {
            break;
        }
    }
    unlinkat(CWD, path, AtFlags::REMOVEDIR)
}

struct Sweep<'a> {
    top: &'a OwnedFd,
    /// Directories that lay too deep and were brought up.
    moved: u64,
    stops: &'a dyn Fn() -> bool,
}

impl Sweep<'_> {
    fn empty(&mut self, directory: &OwnedFd, depth: usize) -> rustix::io::Result<()> {
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            if !is_dots(entry.file_name()) {
                self.entry(directory, entry.file_name(), depth)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, directory: &OwnedFd, name: &CStr, depth: usize) -> rustix::io::Result<()> {
        if (self.stops)() {
            return Err(Errno::INTR);
        }
        match unlinkat(directory, name, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(Errno::NOENT) => return Ok(()),
            other => return other,
        }
        if depth >= DEEPEST {
            return self.bring_up(directory, name);
        }
        let below = open(directory, name)?;
        self.empty(&below, depth + 1)?;
        match unlinkat(directory, name, AtFlags::REMOVEDIR) {
            // Something of it was brought up meanwhile, or has just been made: the next round finds it.
            Err(Errno::NOENT) => Ok(()),
            other => other,
        }
    }

    fn bring_up(&mut self, directory: &OwnedFd, name: &CStr) -> rustix::io::Result<()> {
        loop {
            self.moved += 1;
            match renameat(directory, name, self.top, format!("moved-{}", self.moved)) {
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                other => return other,
            }
        }
    }
}

fn open(at: impl std::os::fd::AsFd, name: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn links_are_removed_and_what_they_point_to_stays() {
        let (outside, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("f"), "kept").unwrap();
        let volume = folder.path().join("v");
        fs::create_dir_all(volume.join("a/b")).unwrap();
        symlink(outside.path(), volume.join("a/b/link")).unwrap();
        symlink(outside.path(), volume.join("link")).unwrap();
        remove(&volume).unwrap();
        assert!(!volume.exists());
        assert_eq!(fs::read(outside.path().join("f")).unwrap(), b"kept");
        remove(&volume).unwrap();
    }

    #[test]
    fn a_tree_deeper_than_descriptors_reach_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let volume = folder.path().join("v");
        let step: PathBuf = std::iter::repeat_n("d", DEEPEST).collect();
        fs::create_dir(&volume).unwrap();
        let mut at = open(CWD, &volume).unwrap();
        for _ in 0..4 {
            fs::create_dir_all(
                Path::new(&format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&at))).join(&step),
            )
            .unwrap();
            at = openat(&at, &step, OFlags::PATH, Mode::empty()).unwrap();
        }
        drop(at);
        remove(&volume).unwrap();
        assert!(!volume.exists());
    }
}
