//! Brings in images that are on this machine already: layouts of the Open Container Initiative, as directories and as
//! archives, and what `docker save` writes, compressed or not.

mod archive;
mod docker;
mod folder;
mod layout;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::archive::Archived;
use self::folder::Folder;
use super::digest::{Digest, Hashed};
use super::limits::Limits;
use super::manifest::{Descriptor, Document};
use super::platform::Platform;
use super::reference::Reference;
use super::store::{Draft, Import, ImportError, InvalidImage, Store, StoreError};

/// What came of it, image by image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    pub id: Digest,
    pub references: Vec<Reference>,
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} holds no images: neither an OCI layout nor what `docker save` writes", .0.display())]
    Nothing(PathBuf),
    #[error("`{name}` of the archive does not read as it should: {reason}")]
    Malformed { name: String, reason: String },
    #[error("the archive lacks `{0}`, which it refers to")]
    Missing(String),
    #[error("`{name}` of the archive is {found}, and {expected} was expected")]
    Digest { name: String, expected: Digest, found: Digest },
    #[error("the archive has no variant for {0}")]
    Platform(Platform),
    #[error(transparent)]
    Image(#[from] InvalidImage),
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Named files, wherever they are.
trait Files {
    /// Nothing where there is no such file.
    fn open(&self, name: &str) -> Result<Option<Box<dyn Read + Send + '_>>, LoadError>;
}

/// One image of an archive, before its layers are read.
struct Found {
    manifest: Vec<u8>,
    config: Vec<u8>,
    references: Vec<Reference>,
    /// Where each layer is, and what it must be as it lies there, if that is known.
    layers: Vec<(String, Option<Digest>)>,
}

pub struct Loader {
    store: Arc<Store>,
    limits: Limits,
    platform: Platform,
}

impl Loader {
    pub fn new(store: Arc<Store>, limits: Limits, platform: Platform) -> Self {
        Self { store, limits, platform }
    }

    /// Everything for this platform that is at `path`. Blocks until it is done.
    pub fn load(&self, path: &Path) -> Result<Vec<Loaded>, LoadError> {
        let failed = |source| LoadError::Read { path: path.to_owned(), source };
        if fs::metadata(path).map_err(failed)?.is_dir() {
            let folder = Folder::open(path).map_err(failed)?;
            return self.load_from(path, &folder);
        }
        let archive = Archived::open(path, &self.store, &self.limits)?;
        self.load_from(path, &archive)
    }

    fn load_from(&self, path: &Path, files: &dyn Files) -> Result<Vec<Loaded>, LoadError> {
        let found = layout::images(self, files)?;
        let found = if found.is_empty() { docker::images(self, files)? } else { found };
        if found.is_empty() {
            return Err(LoadError::Nothing(path.to_owned()));
        }
        found.into_iter().map(|image| self.import(files, image)).collect()
    }

    fn import(&self, files: &dyn Files, image: Found) -> Result<Loaded, LoadError> {
        let draft = Draft::new(image.manifest, image.config, &self.platform, &self.limits)?;
        let digest = draft.digest().clone();
        let import = Import::begin(Arc::clone(&self.store), draft, &self.limits);
        for index in import.missing() {
            let (name, digest) = &image.layers[index];
            add(files, &import, index, name, digest.as_ref())?;
        }
        let names: Vec<_> =
            image.references.iter().map(|reference| (reference.clone(), digest.clone())).collect();
        Ok(Loaded { id: import.finish(&names)?, references: image.references })
    }

    fn document(&self, bytes: &[u8]) -> Result<Document, LoadError> {
        Ok(Document::read(bytes, &self.limits).map_err(InvalidImage::from)?)
    }
}

/// A small file in full.
fn read(files: &dyn Files, name: &str, limit: u64) -> Result<Option<Vec<u8>>, LoadError> {
    let Some(reader) = files.open(name)? else { return Ok(None) };
    let mut bytes = Vec::new();
    reader.take(limit + 1).read_to_end(&mut bytes).map_err(|error| malformed(name, error))?;
    if bytes.len() as u64 > limit {
        return Err(malformed(name, format!("it is larger than {limit} bytes")));
    }
    Ok(Some(bytes))
}

fn read_needed(files: &dyn Files, name: &str, limit: u64) -> Result<Vec<u8>, LoadError> {
    read(files, name, limit)?.ok_or_else(|| LoadError::Missing(name.to_owned()))
}

/// A small blob, which is what its name says.
fn read_blob(files: &dyn Files, blob: &Descriptor, limit: u64) -> Result<Vec<u8>, LoadError> {
    blob.no_larger_than(limit).map_err(InvalidImage::from)?;
    let name = layout::place(&blob.digest);
    let bytes = read_needed(files, &name, limit)?;
    let found = blob.digest.again(&bytes);
    if found != blob.digest {
        return Err(LoadError::Digest { name, expected: blob.digest.clone(), found });
    }
    Ok(bytes)
}

/// Unpacks a layer, and sees that it was the one that the manifest means also before it was unpacked.
fn add(
    files: &dyn Files,
    import: &Import,
    index: usize,
    name: &str,
    digest: Option<&Digest>,
) -> Result<(), LoadError> {
    let mut reader = files.open(name)?.ok_or_else(|| LoadError::Missing(name.to_owned()))?;
    let Some(expected) = digest else { return Ok(import.add(index, reader)?) };
    let mut hashed = Hashed::new(&mut reader, expected.hasher());
    import.add(index, &mut hashed)?;
    io::copy(&mut hashed, &mut io::sink()).map_err(|error| malformed(name, error))?;
    let found = hashed.finish();
    if found == *expected {
        return Ok(());
    }
    Err(LoadError::Digest { name: name.to_owned(), expected: expected.clone(), found })
}

fn malformed(name: &str, reason: impl ToString) -> LoadError {
    LoadError::Malformed { name: name.chars().take(200).collect(), reason: reason.to_string() }
}
