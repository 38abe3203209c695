//! A layout that lies in a directory. Nothing outside of it is read, whatever links are in it.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat};
use rustix::io::Errno;

use super::super::beneath;
use super::{Files, LoadError, malformed};

pub(super) struct Folder(OwnedFd);

impl Folder {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(openat(CWD, path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?))
    }
}

impl Files for Folder {
    fn open(&self, name: &str) -> Result<Option<Box<dyn Read + Send + '_>>, LoadError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let file = match beneath::open(&self.0, Path::new(name), flags, within) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(Errno::XDEV) => return Err(malformed(name, "it leads out of the directory")),
            Err(error) => return Err(malformed(name, error)),
        };
        if !file.metadata().is_ok_and(|found| found.is_file()) {
            return Err(malformed(name, "it is no file"));
        }
        Ok(Some(Box::new(file)))
    }
}
