//! Directories and files that are whole, and on disk, once they have their name.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

/// Asked before every step of a change, so that tests can let it fail at any of them.
pub(super) type Gate<'a> = &'a dyn Fn() -> io::Result<()>;

pub(super) const OPEN: Gate<'static> = &|| Ok(());

/// A directory that only root may enter, and those above it where they are missing.
pub(super) fn closed(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o700))
}

/// With exactly this mode, whatever the process's mask is.
pub(super) fn make_directory(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(mode).create(path)?;
    fs::set_permissions(path, Permissions::from_mode(mode))
}

pub(super) fn write_file(path: &Path, content: &[u8], mode: u32) -> io::Result<File> {
    let mut file = File::create_new(path)?;
    file.write_all(content)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(file)
}

pub(super) fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Gives something its name, for good.
pub(super) fn publish(from: &Path, to: &Path, gate: Gate<'_>) -> io::Result<()> {
    gate()?;
    fs::rename(from, to)?;
    gate()?;
    to.parent().map_or(Ok(()), sync)
}

pub(super) fn unless_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
