//! Removes what no image is made of: after a removal, and at the start what a process that died left behind.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::record::list;
use super::scratch::remove;
use super::{State, Store, StoreError, failed};
use crate::images::digest::Digest;

/// How long a download that was broken off is worth going on with.
const PARTIAL: Duration = Duration::from_hours(24);

impl Store {
    pub(super) fn sweep(&self) -> Result<(), StoreError> {
        for path in list(&self.folder.join("scratch"))? {
            remove(&path).map_err(failed("remove", &path))?;
        }
        for path in list(&self.folder.join("partial"))? {
            if is_old(&path) {
                remove(&path).map_err(failed("remove", &path))?;
            }
        }
        match self.drop_names().and_then(|()| self.collect(&self.state())) {
            // What a damaged record refers to is not known, so nothing is taken for garbage.
            Err(StoreError::Damaged { path, source }) => {
                tracing::warn!(path = %path.display(), %source, "a file of the image store is damaged");
                Ok(())
            }
            other => other,
        }
    }

    /// Names outlive their record only where a removal was interrupted.
    fn drop_names(&self) -> Result<(), StoreError> {
        let known: HashSet<Digest> = self.records()?.into_iter().map(|record| record.id).collect();
        let lost = self.names()?.into_iter().filter(|name| !known.contains(&name.id));
        lost.into_iter().try_for_each(|name| self.forget(&self.name_path(&name.reference)))
    }

    /// Removes layers and blobs that neither a record nor an import under way needs.
    pub(super) fn collect(&self, state: &State) -> Result<(), StoreError> {
        let records = self.records()?;
        let layers: HashSet<&Digest> =
            records.iter().flat_map(|record| &record.layers).chain(state.held.keys()).collect();
        let blobs: HashSet<&Digest> =
            records.iter().flat_map(|record| [&record.id, &record.manifest]).collect();
        self.keep_only(&self.folder.join("layers"), &layers)?;
        self.keep_only(&self.folder.join("blobs"), &blobs)
    }

    fn keep_only(&self, folder: &Path, wanted: &HashSet<&Digest>) -> Result<(), StoreError> {
        let digest = |path: &PathBuf| Digest::from_file_name(path.file_name()?.to_str()?);
        let is_wanted = |path: &PathBuf| digest(path).is_some_and(|digest| wanted.contains(&digest));
        let unwanted = list(folder)?.into_iter().filter(|path| !is_wanted(path));
        unwanted.into_iter().try_for_each(|path| self.discard(&path))
    }
}

fn is_old(path: &Path) -> bool {
    let age = fs::symlink_metadata(path).and_then(|found| found.modified()).map(|time| time.elapsed());
    // A time in the future is that of a clock set back.
    matches!(age, Ok(Ok(age)) if age > PARTIAL)
}
