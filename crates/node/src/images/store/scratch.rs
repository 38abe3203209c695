//! Places in `scratch` to make things in. What is not renamed out of it goes with its guard, or at the next start.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::faults::Faults;
use super::{Store, StoreError, failed};
use crate::volumes::removal;

/// A path that nobody else uses. Nothing is there at first.
pub(super) struct Scratch {
    path: PathBuf,
    faults: Faults,
}

impl Scratch {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.faults.dead() {
            return;
        }
        // What cannot be removed now is swept at the next start.
        let _ = remove(&self.path);
    }
}

impl Store {
    pub(super) fn scratch(&self) -> Scratch {
        let path = self.folder.join("scratch").join(Uuid::new_v4().to_string());
        Scratch { path, faults: self.faults.clone() }
    }

    /// Removes a directory or file of the store so that it is never seen half removed.
    pub(super) fn discard(&self, path: &Path) -> Result<(), StoreError> {
        let scratch = self.scratch();
        self.faults.step().and_then(|()| fs::rename(path, scratch.path())).map_err(failed("remove", path))?;
        self.faults.step().and_then(|()| remove(scratch.path())).map_err(failed("remove", path))
    }
}

/// Whatever is there, if anything. Links are removed, not followed.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(found) if found.is_dir() => removal::clear(path),
        Ok(_) => fs::remove_file(path),
    }
}
