//! Writes entries beneath a directory and nowhere else. Every path is resolved by the kernel, which is told not to leave
//! the directory; links of the archive are followed only as far as they stay in it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, XattrFlags, fsetxattr, futimens, linkat,
    mkdirat, mknodat, openat, readlinkat, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::super::beneath;
use super::super::limits::Limits;
use super::archive::{Entry, Kind};
use super::attributes::{self, check_xattrs};
use super::number::Time;
use super::place::Place;
use super::sparse::Sparse;
use super::whiteout::Whiteout;
use super::{Excess, Facts, Refusal, UnpackError, Unpacked};

/// Tells overlayfs that a directory hides those below it.
pub const OPAQUE: &str = "trusted.overlay.opaque";
const BENEATH: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS).union(ResolveFlags::NO_XDEV);
const WITHIN: ResolveFlags =
    ResolveFlags::IN_ROOT.union(ResolveFlags::NO_MAGICLINKS).union(ResolveFlags::NO_XDEV);
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

pub(super) struct Tree<'a> {
    root: OwnedFd,
    limits: &'a Limits,
    facts: Facts,
    /// The directory that the last entry lay in, which is mostly that of the next one too.
    nearest: Option<(PathBuf, OwnedFd)>,
    implicit: BTreeSet<PathBuf>,
    /// Later entries change a directory's time, so it is set at the end.
    times: BTreeMap<PathBuf, Time>,
    left_out: HashSet<PathBuf>,
}

/// Whether this is what overlayfs takes for a file that is gone.
pub fn is_whiteout(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0
}

impl<'a> Tree<'a> {
    pub(super) fn at(root: &Path, limits: &'a Limits) -> Result<Self, UnpackError> {
        let root = openat(CWD, root, FOLDER | OFlags::NOFOLLOW, Mode::empty()).map_err(UnpackError::write)?;
        Ok(Self {
            root,
            limits,
            facts: Facts::default(),
            nearest: None,
            implicit: BTreeSet::new(),
            times: BTreeMap::new(),
            left_out: HashSet::new(),
        })
    }

    pub(super) fn add(&mut self, entry: &Entry, data: &mut impl Read) -> Result<(), UnpackError> {
        let place = Place::of(&entry.name, self.limits)?;
        check_xattrs(entry, self.limits)?;
        attributes::owner(entry)?;
        let Some((folder, name)) = place.split() else { return self.add_root(entry) };
        if let Some(whiteout) = Whiteout::read(name)? {
            return self.hide(&place, &whiteout);
        }
        self.facts.entries += 1;
        let parent = self.folder(folder)?;
        match &entry.kind {
            Kind::Directory => self.add_directory(&parent, &place, name, entry)?,
            Kind::File(size) => self.add_file(&parent, name, entry, *size, data)?,
            Kind::Sparse(sparse) => self.add_sparse(&parent, name, entry, sparse, data)?,
            Kind::Symlink(target) => self.add_symlink(&parent, name, entry, target)?,
            Kind::HardLink(target) => self.add_link(&parent, &place, name, target)?,
            Kind::Fifo => self.add_fifo(&parent, name, entry)?,
            Kind::Device => self.leave_out(&place),
        }
        self.nearest = Some((folder.to_owned(), parent));
        Ok(())
    }

    /// Sets what had to wait, and says what came of it all.
    pub(super) fn finish(self) -> Result<Unpacked, UnpackError> {
        let write = |path: &Path, error| UnpackError::write(error).within(&path.to_string_lossy());
        for (path, time) in &self.times {
            // It may have been replaced by something else since.
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            match beneath::open(&self.root, path, FOLDER | OFlags::NOFOLLOW, BENEATH) {
                Ok(folder) => {
                    futimens(&folder, &attributes::both(*time)).map_err(|error| write(path, error))?;
                }
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => {}
                Err(error) => return Err(write(path, error)),
            }
        }
        Ok(Unpacked { facts: self.facts, implicit: self.implicit.into_iter().collect() })
    }

    fn add_root(&mut self, entry: &Entry) -> Result<(), UnpackError> {
        if entry.kind != Kind::Directory {
            return Err(Refusal::Root.into());
        }
        self.times.insert(PathBuf::new(), entry.mtime);
        attributes::set(&self.root, entry)
    }

    fn add_directory(
        &mut self,
        parent: &OwnedFd,
        place: &Place,
        name: &OsStr,
        entry: &Entry,
    ) -> Result<(), UnpackError> {
        let hides = match look(parent, name)? {
            Some(found) if FileType::from_raw_mode(found.st_mode) == FileType::Directory => None,
            Some(found) => {
                self.clear(parent, name)?;
                Some(is_whiteout(&found))
            }
            None => Some(false),
        };
        if hides.is_some() {
            mkdirat(parent, name, Mode::RWXU).map_err(UnpackError::write)?;
        }
        let folder = open_folder(parent, name)?;
        if hides == Some(true) {
            make_opaque(&folder)?;
        }
        self.implicit.remove(place.path());
        self.times.insert(place.path().to_owned(), entry.mtime);
        attributes::set(&folder, entry)
    }

    fn add_file(
        &mut self,
        parent: &OwnedFd,
        name: &OsStr,
        entry: &Entry,
        size: u64,
        data: &mut impl Read,
    ) -> Result<(), UnpackError> {
        self.weigh(size)?;
        let mut file = self.create(parent, name)?;
        copy(data, &mut file, size)?;
        attributes::set(&file, entry)
    }

    fn add_sparse(
        &mut self,
        parent: &OwnedFd,
        name: &OsStr,
        entry: &Entry,
        sparse: &Sparse,
        data: &mut impl Read,
    ) -> Result<(), UnpackError> {
        self.weigh(sparse.size)?;
        let mut file = self.create(parent, name)?;
        file.set_len(sparse.size).map_err(UnpackError::write)?;
        for (offset, length) in &sparse.stretches {
            file.seek(SeekFrom::Start(*offset)).map_err(UnpackError::write)?;
            copy(data, &mut file, *length)?;
        }
        attributes::set(&file, entry)
    }

    fn add_symlink(
        &mut self,
        parent: &OwnedFd,
        name: &OsStr,
        entry: &Entry,
        target: &[u8],
    ) -> Result<(), UnpackError> {
        if target.contains(&0) {
            return Err(Refusal::Nul.into());
        }
        if target.len() > self.limits.path_bytes {
            return Err(Refusal::LongName(target.len(), self.limits.path_bytes).into());
        }
        if look(parent, name)?.is_some() {
            self.clear(parent, name)?;
        }
        symlinkat(target, parent, name).map_err(UnpackError::write)?;
        attributes::set_at(parent, name, entry)
    }

    /// To a file of this layer, which must have come before.
    fn add_link(
        &mut self,
        parent: &OwnedFd,
        place: &Place,
        name: &OsStr,
        target: &[u8],
    ) -> Result<(), UnpackError> {
        let shown = || String::from_utf8_lossy(target).chars().take(300).collect::<String>();
        // Writers disagree on whether targets begin with a slash; both mean the layer's root.
        let relative = target.iter().position(|byte| *byte != b'/').map_or(&[][..], |start| &target[start..]);
        let target = Place::of(relative, self.limits)?;
        if self.left_out.contains(target.path()) {
            self.leave_out(place);
            return Ok(());
        }
        let (folder, target_name) = target.split().ok_or_else(|| Refusal::LinkToDirectory(shown()))?;
        let from = match self.resolve(folder) {
            Ok(from) => from,
            Err(Failure::Missing) => return Err(Refusal::LinkTarget(shown()).into()),
            Err(Failure::Other(error)) => return Err(error),
        };
        let found = look(&from, target_name)?.filter(|found| !is_whiteout(found));
        let found = found.ok_or_else(|| Refusal::LinkTarget(shown()))?;
        if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
            return Err(Refusal::LinkToDirectory(shown()).into());
        }
        match look(parent, name)? {
            Some(there) if (there.st_dev, there.st_ino) == (found.st_dev, found.st_ino) => return Ok(()),
            Some(_) => self.clear(parent, name)?,
            None => {}
        }
        linkat(&from, target_name, parent, name, AtFlags::empty()).map_err(UnpackError::write)
    }

    fn add_fifo(&mut self, parent: &OwnedFd, name: &OsStr, entry: &Entry) -> Result<(), UnpackError> {
        if look(parent, name)?.is_some() {
            self.clear(parent, name)?;
        }
        mknodat(parent, name, FileType::Fifo, Mode::RUSR, 0).map_err(UnpackError::write)?;
        attributes::set_at(parent, name, entry)
    }

    /// A device node of an image would be one of this machine.
    fn leave_out(&mut self, place: &Place) {
        self.facts.devices_left_out += 1;
        self.left_out.insert(place.path().to_owned());
    }

    fn hide(&mut self, place: &Place, whiteout: &Whiteout<'_>) -> Result<(), UnpackError> {
        match whiteout {
            Whiteout::Note => Ok(()),
            Whiteout::Opaque if place.parent().path().as_os_str().is_empty() => {
                self.facts.hides_all = true;
                Ok(())
            }
            Whiteout::Opaque => {
                let folder = self.folder(place.parent().path())?;
                let folder = open_folder(&folder, OsStr::new("."))?;
                make_opaque(&folder)
            }
            Whiteout::Of(gone) => self.hide_one(&place.beside(gone)),
        }
    }

    /// What the layer itself has there stays; it is those below that are hidden.
    fn hide_one(&mut self, place: &Place) -> Result<(), UnpackError> {
        let Some((folder, name)) = place.split() else { return Err(Refusal::Whiteout.into()) };
        let parent = self.folder(folder)?;
        match look(&parent, name)? {
            None => mknodat(&parent, name, FileType::CharacterDevice, Mode::empty(), 0)
                .map_err(UnpackError::write),
            Some(found) if FileType::from_raw_mode(found.st_mode) == FileType::Directory => {
                make_opaque(&open_folder(&parent, name)?)
            }
            Some(_) => Ok(()),
        }
    }

    /// Holes count: they take no room until a container fills them.
    fn weigh(&mut self, size: u64) -> Result<(), UnpackError> {
        self.facts.bytes = self.facts.bytes.saturating_add(size);
        if self.facts.bytes > self.limits.layer_bytes {
            return Err(UnpackError::Excess(Excess::Bytes(self.limits.layer_bytes)));
        }
        Ok(())
    }

    /// A new file, in place of whatever an earlier entry put there.
    fn create(&mut self, parent: &OwnedFd, name: &OsStr) -> Result<File, UnpackError> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let opened = match openat(parent, name, flags, mode) {
            Err(Errno::EXIST) => {
                self.clear(parent, name)?;
                openat(parent, name, flags, mode)
            }
            opened => opened,
        };
        Ok(File::from(opened.map_err(UnpackError::write)?))
    }

    /// Removes an entry and all that is in it, without following links.
    fn clear(&mut self, parent: &OwnedFd, name: &OsStr) -> Result<(), UnpackError> {
        self.nearest = None;
        match unlinkat(parent, name, AtFlags::empty()) {
            Ok(()) => Ok(()),
            Err(Errno::ISDIR) => fs::remove_dir_all(reach(parent.as_fd(), name)).map_err(UnpackError::write),
            Err(error) => Err(UnpackError::write(error)),
        }
    }

    /// The directory at `path`, made where it is missing.
    fn folder(&mut self, path: &Path) -> Result<OwnedFd, UnpackError> {
        match self.nearest.take() {
            Some((known, folder)) if known == path => return Ok(folder),
            _ => {}
        }
        match self.resolve(path) {
            Ok(folder) => Ok(folder),
            Err(Failure::Missing) => self.make_folders(path),
            Err(Failure::Other(error)) => Err(error),
        }
    }

    fn make_folders(&mut self, path: &Path) -> Result<OwnedFd, UnpackError> {
        let mut parent = self.resolve(Path::new("")).map_err(Failure::settled)?;
        let mut reached = PathBuf::new();
        for part in path {
            reached.push(part);
            parent = match self.resolve(&reached) {
                Ok(folder) => folder,
                Err(Failure::Missing) => {
                    self.make_folder(&parent, part, &reached)?;
                    self.resolve(&reached).map_err(Failure::settled)?
                }
                Err(Failure::Other(error)) => return Err(error),
            };
        }
        Ok(parent)
    }

    fn make_folder(&mut self, parent: &OwnedFd, name: &OsStr, path: &Path) -> Result<(), UnpackError> {
        let mode = Mode::from_raw_mode(0o755);
        match mkdirat(parent, name, mode) {
            Ok(()) => {}
            // A link to nothing.
            Err(Errno::EXIST) => return Err(Refusal::NoDirectory.into()),
            Err(error) => return Err(UnpackError::write(error)),
        }
        self.facts.entries += 1;
        self.implicit.insert(path.to_owned());
        self.times.insert(path.to_owned(), Time::default());
        Ok(())
    }

    /// Opens a directory beneath the root. The kernel refuses what leads out of it; of that only a link with an
    /// absolute target is well meant, which is one from the image's own root.
    fn resolve(&self, path: &Path) -> Result<OwnedFd, Failure> {
        let flags = FOLDER | OFlags::PATH;
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let opened = match beneath::open(&self.root, path, flags, BENEATH) {
            Err(Errno::XDEV) => match self.first_link(path) {
                Some((_, target)) if target.starts_with("/") => {
                    beneath::open(&self.root, path, flags, WITHIN)
                }
                Some((link, _)) => {
                    let link = link.display().to_string();
                    return Err(Failure::Other(Refusal::Escapes(link).into()));
                }
                None => Err(Errno::XDEV),
            },
            opened => opened,
        };
        opened.map_err(|error| match error {
            Errno::NOENT => Failure::Missing,
            Errno::NOTDIR => Failure::Other(Refusal::NoDirectory.into()),
            Errno::LOOP => Failure::Other(Refusal::Circle.into()),
            error => Failure::Other(UnpackError::write(error)),
        })
    }

    /// The first link on the way, and where it leads.
    fn first_link(&self, path: &Path) -> Option<(PathBuf, PathBuf)> {
        let mut reached = PathBuf::new();
        path.iter().find_map(|part| {
            reached.push(part);
            let target = readlinkat(&self.root, &reached, Vec::new()).ok()?;
            Some((reached.clone(), PathBuf::from(OsStr::new(target.to_str().ok()?))))
        })
    }
}

enum Failure {
    Missing,
    Other(UnpackError),
}

impl Failure {
    fn settled(self) -> UnpackError {
        match self {
            Self::Missing => UnpackError::write(Errno::NOENT),
            Self::Other(error) => error,
        }
    }
}

fn look(parent: &OwnedFd, name: &OsStr) -> Result<Option<Stat>, UnpackError> {
    match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(UnpackError::write(error)),
    }
}

fn open_folder(parent: &OwnedFd, name: &OsStr) -> Result<OwnedFd, UnpackError> {
    openat(parent, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()).map_err(UnpackError::write)
}

fn make_opaque(folder: &OwnedFd) -> Result<(), UnpackError> {
    fsetxattr(folder, OPAQUE, b"y", XattrFlags::empty()).map_err(UnpackError::write)
}

/// A path by which the standard library reaches into a directory that is held open.
fn reach(parent: BorrowedFd<'_>, name: &OsStr) -> PathBuf {
    Path::new("/proc/self/fd").join(parent.as_raw_fd().to_string()).join(name)
}

fn copy(data: &mut impl Read, file: &mut File, size: u64) -> Result<(), UnpackError> {
    let mut left = size;
    let mut buffer = vec![0; usize::try_from(size).unwrap_or(usize::MAX).min(64 << 10)];
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        match data.read(&mut buffer[..wanted]) {
            Ok(0) => return Err(UnpackError::Malformed("it ends within a file")),
            Ok(count) => {
                io::Write::write_all(file, &buffer[..count]).map_err(UnpackError::write)?;
                left -= count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(UnpackError::read(error)),
        }
    }
    Ok(())
}
