//! Writes the files of a volume so that whoever reads them sees all of the old or all of the new:
//!
//! ```text
//! name         -> ..data/name
//! ..data       -> ..2026_11_15_21_40_00.000000001     replaced in one step
//! ..2026_11_15_21_40_00.000000001/name
//! ```
//! Containers see these volumes read-only, so nothing here is theirs.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, fchown, symlink};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::durable::{Gate, OPEN, closed, make_directory, publish, sync, unless_missing, write_file};
use super::error::{Error, failed};
use super::payload::{File, Payload};
use super::removal::remove;

const DATA: &str = "..data";
const NEXT: &str = "..data_tmp";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Written,
    /// It was there already.
    Unchanged,
}

/// Makes the volume at `path` have these files and no others.
pub fn write(path: &Path, payload: &Payload, group: Option<u32>, now: Timestamp) -> Result<Outcome, Error> {
    write_with(path, payload, group, now, OPEN)
}

fn write_with(
    path: &Path,
    payload: &Payload,
    group: Option<u32>,
    now: Timestamp,
    gate: Gate<'_>,
) -> Result<Outcome, Error> {
    let volume = Volume { path, group, gate };
    let failing = failed("write", path);
    volume.prepare().map_err(&failing)?;
    let current = volume.current().map_err(&failing)?;
    volume.sweep(current.as_deref())?;
    let is_there = match &current {
        Some(name) => read_back(&path.join(name)).map_err(&failing)? == *payload,
        None => false,
    };
    if !is_there {
        let name = volume.fill(payload, now).map_err(&failing)?;
        volume.swap(&name).map_err(&failing)?;
        volume.link(payload).map_err(&failing)?;
        volume.sweep(Some(&name))?;
        return Ok(Outcome::Written);
    }
    volume.link(payload).map_err(&failing)?;
    Ok(Outcome::Unchanged)
}

struct Volume<'a> {
    path: &'a Path,
    group: Option<u32>,
    gate: Gate<'a>,
}

impl Volume<'_> {
    fn prepare(&self) -> io::Result<()> {
        (self.gate)()?;
        self.path.parent().map_or(Ok(()), closed)?;
        match make_directory(self.path, self.directory_mode()) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            other => other?,
        }
        (self.gate)()?;
        self.own(self.path)
    }

    fn directory_mode(&self) -> u32 {
        if self.group.is_some() { 0o2755 } else { 0o755 }
    }

    /// A change of owner takes bits of the mode away, so that comes last.
    fn own(&self, directory: &Path) -> io::Result<()> {
        chown(directory, Some(0), Some(self.group.unwrap_or(0)))?;
        fs::set_permissions(directory, Permissions::from_mode(self.directory_mode()))
    }

    /// The directory that is shown now.
    fn current(&self) -> io::Result<Option<PathBuf>> {
        match fs::read_link(self.path.join(DATA)) {
            Ok(name) if self.path.join(&name).is_dir() => Ok(Some(name)),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes what an earlier write left behind, or replaced.
    fn sweep(&self, kept: Option<&Path>) -> Result<(), Error> {
        let failing = failed("sweep", self.path);
        for entry in fs::read_dir(self.path).map_err(&failing)? {
            let name = entry.map_err(&failing)?.file_name();
            let is_ours = name.as_encoded_bytes().starts_with(b"..") && name != DATA;
            if is_ours && kept != Some(Path::new(&name)) {
                (self.gate)().map_err(&failing)?;
                discard(&self.path.join(name))?;
            }
        }
        Ok(())
    }

    /// A new directory with all files, on disk.
    fn fill(&self, payload: &Payload, now: Timestamp) -> io::Result<PathBuf> {
        let name = self.new_directory(now)?;
        let root = self.path.join(&name);
        let mut made = BTreeSet::from([root.clone()]);
        for (path, file) in payload {
            let place = root.join(path);
            self.make_way(&root, path, &mut made)?;
            self.file(&place, file)?;
        }
        made.iter().rev().try_for_each(|directory| {
            (self.gate)()?;
            sync(directory)
        })?;
        Ok(name)
    }

    fn new_directory(&self, now: Timestamp) -> io::Result<PathBuf> {
        let stem = now.strftime("..%Y_%m_%d_%H_%M_%S").to_string();
        for number in now.subsec_nanosecond().. {
            let name = PathBuf::from(format!("{stem}.{number:09}"));
            (self.gate)()?;
            match make_directory(&self.path.join(&name), self.directory_mode()) {
                // The clock stands still, or was set back.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => {
                    made?;
                    self.own(&self.path.join(&name))?;
                    return Ok(name);
                }
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    fn make_way(&self, root: &Path, path: &Path, made: &mut BTreeSet<PathBuf>) -> io::Result<()> {
        let mut directory = root.to_owned();
        for part in path.parent().into_iter().flatten() {
            directory.push(part);
            if made.insert(directory.clone()) {
                (self.gate)()?;
                make_directory(&directory, self.directory_mode())?;
                self.own(&directory)?;
            }
        }
        Ok(())
    }

    fn file(&self, place: &Path, file: &File) -> io::Result<()> {
        (self.gate)()?;
        let written = write_file(place, &file.content, file.mode)?;
        (self.gate)()?;
        fchown(&written, Some(file.uid), Some(file.gid))?;
        written.sync_all()
    }

    /// The one step that readers notice.
    fn swap(&self, name: &Path) -> io::Result<()> {
        let next = self.path.join(NEXT);
        (self.gate)()?;
        symlink(name, &next)?;
        publish(&next, &self.path.join(DATA), self.gate)
    }

    /// Names for the files, and no others.
    fn link(&self, payload: &Payload) -> io::Result<()> {
        let wanted: BTreeSet<OsString> =
            payload.keys().filter_map(|path| path.iter().next()).map(OsString::from).collect();
        for name in &wanted {
            let (link, target) = (self.path.join(name), Path::new(DATA).join(name));
            if fs::read_link(&link).is_ok_and(|found| found == target) {
                continue;
            }
            (self.gate)()?;
            symlink(target, link)?;
        }
        for entry in fs::read_dir(self.path)? {
            let name = entry?.file_name();
            if !name.as_encoded_bytes().starts_with(b"..") && !wanted.contains(&name) {
                (self.gate)()?;
                unless_missing(fs::remove_file(self.path.join(name)))?;
            }
        }
        sync(self.path)
    }
}

fn discard(path: &Path) -> Result<(), Error> {
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        return remove(path);
    }
    unless_missing(fs::remove_file(path)).map_err(failed("remove", path))
}

fn read_back(root: &Path) -> io::Result<Payload> {
    let mut payload = Payload::new();
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(root.join(&directory))? {
            let (entry, metadata) = entry.and_then(|entry| Ok((entry.file_name(), entry.metadata()?)))?;
            let path = directory.join(entry);
            if metadata.is_dir() {
                directories.push(path);
                continue;
            }
            let content = fs::read(root.join(&path))?;
            let (mode, uid, gid) = (metadata.mode() & 0o7777, metadata.uid(), metadata.gid());
            payload.insert(path, File { content, mode, uid, gid });
        }
    }
    Ok(payload)
}

#[cfg(test)]
mod tests;
