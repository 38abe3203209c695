//! What clients are told of a file.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Stat};

use crate::wire::files::EntryKind;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) kind: Kind,
    pub(crate) size: u64,
    pub(crate) mode: u32,
    /// Since 1970.
    pub(crate) modified: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
    /// A pipe, a socket or a device.
    Other,
}

impl Facts {
    pub(crate) fn of(stat: &Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        let nanoseconds = u32::try_from(stat.st_mtime_nsec).unwrap_or_default();
        let modified = Duration::new(u64::try_from(stat.st_mtime).unwrap_or_default(), nanoseconds);
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        Self { kind, size, mode: stat.st_mode & 0o7777, modified }
    }

    pub(crate) fn entry_kind(&self) -> EntryKind {
        if self.kind == Kind::Directory { EntryKind::Directory } else { EntryKind::File }
    }

    pub(crate) fn modified_at(&self) -> SystemTime {
        UNIX_EPOCH + self.modified
    }
}
