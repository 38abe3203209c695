//! A place on the disk where clusters keep their data, too, that goes with this value.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{terminal, workspace};

pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn create() -> Result<Self> {
        let path = workspace::cache()?.join(format!("bench-{}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| format!("creating {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if fs::remove_dir_all(&self.0).is_err() {
            terminal::note(&format!("{} could not be removed", self.0.display()));
        }
    }
}
