//! What clients are told of a file.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Stat};

use crate::wire::files::{EntryKind, StatKind};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) kind: Kind,
    pub(crate) size: u64,
    pub(crate) mode: u32,
    /// Since 1970, like the other two.
    pub(crate) modified: Duration,
    pub(crate) accessed: Duration,
    pub(crate) changed: Duration,
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
        Self {
            kind,
            size: number(stat.st_size),
            mode: stat.st_mode & 0o7777,
            modified: Duration::new(number(stat.st_mtime), number(stat.st_mtime_nsec)),
            accessed: Duration::new(number(stat.st_atime), number(stat.st_atime_nsec)),
            changed: Duration::new(number(stat.st_ctime), number(stat.st_ctime_nsec)),
        }
    }

    pub(crate) fn entry_kind(&self) -> EntryKind {
        if self.kind == Kind::Directory { EntryKind::Directory } else { EntryKind::File }
    }

    pub(crate) fn stat_kind(&self) -> StatKind {
        match self.kind {
            Kind::File => StatKind::File,
            Kind::Directory => StatKind::Directory,
            Kind::Link => StatKind::Link,
            Kind::Other => StatKind::Other,
        }
    }

    pub(crate) fn modified_at(&self) -> SystemTime {
        UNIX_EPOCH + self.modified
    }
}

/// Its types are not the same on all machines, and a date before 1970 is none.
fn number<T: Default>(value: impl TryInto<T>) -> T {
    value.try_into().unwrap_or_default()
}
