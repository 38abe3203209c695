//! Owner, mode, extended attributes and time of what was unpacked.

use std::ffi::OsStr;
use std::os::fd::AsFd;

use rustix::fs::{
    AtFlags, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags, chownat, fchmod, fchown, fsetxattr, futimens,
    utimensat,
};

use super::super::limits::Limits;
use super::archive::Entry;
use super::number::Time;
use super::{Refusal, UnpackError};

#[derive(Clone, Copy)]
pub(super) struct Owner {
    uid: Uid,
    gid: Gid,
}

/// By these overlayfs would be told what to hide and where to look.
const FORGED: [&str; 2] = ["trusted.overlay.", "user.overlay."];
/// What means the same on any machine. Labels of the machine that made the image do not.
const KEPT: [&str; 2] = ["security.capability", "user."];
const ACCESS_LISTS: &str = "system.posix_acl_";

pub(super) fn owner(entry: &Entry) -> Result<Owner, Refusal> {
    let id = |id: u64| u32::try_from(id).ok().filter(|id| *id != u32::MAX).ok_or(Refusal::Owner(id));
    Ok(Owner { uid: Uid::from_raw(id(entry.uid)?), gid: Gid::from_raw(id(entry.gid)?) })
}

pub(super) fn check_xattrs(entry: &Entry, limits: &Limits) -> Result<(), Refusal> {
    if entry.xattrs.len() > limits.xattrs {
        return Err(Refusal::Attributes(limits.xattrs));
    }
    for (name, value) in &entry.xattrs {
        if FORGED.iter().any(|prefix| name.starts_with(prefix)) {
            return Err(Refusal::ForgedAttribute(name.clone()));
        }
        let size = value.len().max(name.len());
        if size > limits.xattr_bytes {
            return Err(Refusal::LongAttribute(size, limits.xattr_bytes));
        }
    }
    Ok(())
}

/// Of a file or directory. A change of owner takes away capabilities and modes like setuid, so it comes first; time
/// comes last.
pub(super) fn set(file: impl AsFd, entry: &Entry) -> Result<(), UnpackError> {
    let owner = owner(entry)?;
    fchown(&file, Some(owner.uid), Some(owner.gid)).map_err(UnpackError::write)?;
    fchmod(&file, Mode::from_raw_mode(entry.mode)).map_err(UnpackError::write)?;
    for (name, value) in entry.xattrs.iter().filter(|(name, _)| is_kept(name)) {
        fsetxattr(&file, name.as_str(), value, XattrFlags::empty()).map_err(UnpackError::write)?;
    }
    futimens(&file, &both(entry.mtime)).map_err(UnpackError::write)
}

/// Of what cannot be opened without doing harm: links and pipes.
pub(super) fn set_at(parent: impl AsFd, name: &OsStr, entry: &Entry) -> Result<(), UnpackError> {
    let owner = owner(entry)?;
    let here = AtFlags::SYMLINK_NOFOLLOW;
    chownat(&parent, name, Some(owner.uid), Some(owner.gid), here).map_err(UnpackError::write)?;
    if entry.kind == super::archive::Kind::Fifo {
        let mode = Mode::from_raw_mode(entry.mode);
        rustix::fs::chmodat(&parent, name, mode, AtFlags::empty()).map_err(UnpackError::write)?;
    }
    utimensat(&parent, name, &both(entry.mtime), here).map_err(UnpackError::write)
}

pub(super) fn both(time: Time) -> Timestamps {
    let time = Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() };
    Timestamps { last_access: time, last_modification: time }
}

fn is_kept(name: &str) -> bool {
    KEPT.iter().any(|kept| name.starts_with(kept)) || name.starts_with(ACCESS_LISTS)
}
