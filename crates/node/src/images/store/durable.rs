//! Writes that are on disk, whole, when they return, and absent if they do not.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::{Store, StoreError, failed};

impl Store {
    pub(super) fn write(&self, path: &Path, content: &[u8]) -> Result<(), StoreError> {
        let scratch = self.scratch();
        let write = || {
            self.faults.step()?;
            let mut file = File::create_new(scratch.path())?;
            file.write_all(content)?;
            self.faults.step()?;
            file.sync_all()?;
            self.publish(scratch.path(), path)
        };
        write().map_err(failed("write", path))
    }

    pub(super) fn write_json(&self, path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
        let content = serde_json::to_vec(value).map_err(|error| failed("write", path)(error.into()))?;
        self.write(path, &content)
    }

    /// Gives something its place. It must be on disk already.
    pub(super) fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.faults.step()?;
        fs::rename(from, to)?;
        self.faults.step()?;
        sync_folder(to)
    }

    pub(super) fn forget(&self, path: &Path) -> Result<(), StoreError> {
        let remove = || {
            self.faults.step()?;
            match fs::remove_file(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                other => other?,
            }
            self.faults.step()?;
            sync_folder(path)
        };
        remove().map_err(failed("remove", path))
    }
}

/// The directory that `path` lies in, so that its name there is on disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}
