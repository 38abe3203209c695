//! The small files that say what the large ones are: records of images, and their names.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Store, StoreError, failed};
use crate::images::digest::Digest;
use crate::images::reference::Reference;

/// What an image is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    /// Of its configuration.
    pub(super) id: Digest,
    pub(super) manifest: Digest,
    /// Lowest first, each with all below it.
    pub(super) layers: Vec<Digest>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) mounts: Vec<Mount>,
}

/// A directory of this machine that shows through at a path of an image, beneath what the image itself has there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mount {
    pub at: PathBuf,
    pub host: PathBuf,
}

/// A reference and what it stands for here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    pub reference: Reference,
    pub id: Digest,
    /// What the registry knows it by: the digest of its index, or of its manifest where there is no index.
    pub digest: Digest,
}

impl Store {
    pub(super) fn record(&self, id: &Digest) -> Result<Option<Record>, StoreError> {
        read(&self.record_path(id))
    }

    pub(super) fn records(&self) -> Result<Vec<Record>, StoreError> {
        read_all(&self.folder.join("records"))
    }

    pub(super) fn read_name(&self, reference: &Reference) -> Result<Option<Name>, StoreError> {
        read(&self.name_path(reference))
    }

    pub(super) fn names(&self) -> Result<Vec<Name>, StoreError> {
        read_all(&self.folder.join("names"))
    }

    pub(super) fn record_path(&self, id: &Digest) -> PathBuf {
        self.folder.join("records").join(id.file_name() + ".json")
    }

    /// References are longer than names of files may be.
    pub(super) fn name_path(&self, reference: &Reference) -> PathBuf {
        let hash = Digest::of(reference.to_string().as_bytes());
        self.folder.join("names").join(hash.hex().to_owned() + ".json")
    }
}

pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, StoreError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", path)(error)),
    };
    let read = serde_json::from_slice(&bytes);
    read.map(Some).map_err(|source| StoreError::Damaged { path: path.to_owned(), source })
}

pub(super) fn read_all<T: DeserializeOwned>(folder: &Path) -> Result<Vec<T>, StoreError> {
    let mut paths = list(folder)?;
    paths.retain(|path| path.extension() == Some(OsStr::new("json")));
    let read = paths.iter().filter_map(|path| read(path).transpose());
    read.collect()
}

/// In the order of their names.
pub(super) fn list(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut paths: Vec<_> =
        entries.map_err(failed("list", folder))?.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}
