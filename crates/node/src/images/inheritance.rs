//! Directories that a layer does not mention though it has files in them: they are to look as in the layers below, or the
//! layer would change the modes and owners of directories that it has nothing to say about.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    CWD, Gid, Mode, OFlags, ResolveFlags, Timespec, Timestamps, Uid, XattrFlags, fchmod, fchown, fgetxattr,
    flistxattr, fsetxattr, fstat, futimens, openat,
};
use rustix::io::Errno;

use super::beneath;
use super::merged::Merged;

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);
const LONGEST_LIST: usize = 64 << 10;

/// Gives each of `folders` in `tree` what it has in the layers below, if it is a directory there too.
pub(super) fn inherit(tree: &Path, folders: &[PathBuf], below: &Merged) -> io::Result<()> {
    let root = openat(CWD, tree, FOLDER, Mode::empty())?;
    for path in folders {
        let Some(lower) = below.directory(path)? else { continue };
        match beneath::open(&root, path, FOLDER, BENEATH) {
            Ok(upper) => copy(&lower, &upper)?,
            // A later entry of the layer replaced it.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn copy(from: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
    let facts = fstat(from)?;
    fchown(to, Some(Uid::from_raw(facts.st_uid)), Some(Gid::from_raw(facts.st_gid)))?;
    fchmod(to, Mode::from_raw_mode(facts.st_mode))?;
    copy_xattrs(from, to)?;
    let time = Timespec { tv_sec: facts.st_mtime, tv_nsec: i64::try_from(facts.st_mtime_nsec).unwrap_or(0) };
    Ok(futimens(to, &Timestamps { last_access: time, last_modification: time })?)
}

/// But for those by which overlayfs knows what the lower directory itself hides.
fn copy_xattrs(from: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
    let mut names = vec![0; LONGEST_LIST];
    let length = flistxattr(from, &mut names[..])?;
    let names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    for name in names.filter(|name| name.starts_with(b"user.") || name.starts_with(b"system.posix_acl_")) {
        let mut value = vec![0; LONGEST_LIST];
        let length = fgetxattr(from, name, &mut value[..])?;
        fsetxattr(to, name, &value[..length], XattrFlags::empty())?;
    }
    Ok(())
}
