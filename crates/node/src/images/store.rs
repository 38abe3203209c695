//! Keeps images on disk, each part under the digest of its content. Whatever moment the process dies at, every image is
//! whole or absent: parts are made in `scratch`, synced and renamed, and what nothing refers to is swept at the start.
//!
//! ```text
//! layers/<chain>/tree, facts.json   an unpacked layer on those below it
//! blobs/<digest>                    manifests and configurations
//! records/<image id>.json           which of them make up an image: its commit point
//! names/<hash>.json, pins/<owner>.json, partial/<digest>, scratch/, empty/
//! ```

mod downloads;
mod durable;
mod faults;
mod garbage;
mod import;
mod listing;
mod pins;
mod record;
mod removal;
mod scratch;
mod spool;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FlockOperation, flock};

pub use self::downloads::Download;
pub use self::import::{Draft, Import, ImportError, InvalidImage};
pub use self::listing::Summary;
pub use self::pins::Pin;
pub use self::record::{Mount, Name};
pub use self::removal::{Freed, Target, Unwanted};
pub use self::spool::Spool;

use self::faults::Faults;
use self::record::Record;
use super::config::{Blueprint, ImageConfig};
use super::digest::Digest;
use super::reference::Reference;
use super::unpack::Facts;

const FOLDERS: [&str; 8] = ["layers", "blobs", "records", "names", "pins", "partial", "scratch", "empty"];

pub struct Store {
    folder: PathBuf,
    /// Taken from the kernel when the process ends, however it does.
    _lock: File,
    state: Mutex<State>,
    faults: Faults,
}

/// What imports that are under way rely on. It ends with the process, as they do.
#[derive(Default)]
struct State {
    held: HashMap<Digest, usize>,
    downloads: HashMap<Digest, usize>,
}

/// An image as what runs it gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The digest of its configuration.
    pub id: Digest,
    /// Directories to stack, lowest first; at least one.
    pub layers: Vec<PathBuf>,
    /// Further stacks within it.
    pub overlays: Vec<SubOverlay>,
    pub config: ImageConfig,
}

/// A stack of its own at a path of the image: overlayfs does not see what is mounted below a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubOverlay {
    pub at: PathBuf,
    /// Lowest first.
    pub layers: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{what} {}", .path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error("another process keeps its images in {}", .0.display())]
    Busy(PathBuf),
    #[error("{} is damaged; remove it, and pull its image again", .path.display())]
    Damaged { path: PathBuf, source: serde_json::Error },
    #[error("there is no image `{0}`")]
    Unknown(String),
    #[error("the image is in use by {}", .0.join(", "))]
    InUse(Vec<String>),
    #[error("`{0}` is no name for a user of images: letters, digits, `.`, `_` and `-`, at most 200")]
    Owner(String),
}

impl Store {
    /// Opens the store in `folder`, which it makes where it is missing, and sweeps what an earlier process left undone.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Self::open_with(folder, Faults::default())
    }

    fn open_with(folder: &Path, faults: Faults) -> Result<Self, StoreError> {
        for name in FOLDERS {
            let path = folder.join(name);
            fs::create_dir_all(&path).map_err(failed("make", &path))?;
        }
        // Layers hold programs that run as root for whoever starts them.
        let private = Permissions::from_mode(0o700);
        fs::set_permissions(folder, private).map_err(failed("protect", folder))?;
        let lock = File::open(folder).map_err(failed("open", folder))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| StoreError::Busy(folder.to_owned()))?;
        let store = Self { folder: folder.to_owned(), _lock: lock, state: Mutex::default(), faults };
        store.sweep()?;
        Ok(store)
    }

    /// The image that a reference means here, if it is here.
    pub fn find(&self, reference: &Reference) -> Result<Option<Image>, StoreError> {
        match self.named(reference)? {
            Some(name) => self.image(&name.id),
            None => Ok(None),
        }
    }

    pub fn image(&self, id: &Digest) -> Result<Option<Image>, StoreError> {
        self.record(id)?.map(|record| self.assemble(record)).transpose()
    }

    /// Where a download goes on from, if it is broken off.
    pub fn partial(&self, digest: &Digest) -> PathBuf {
        self.folder.join("partial").join(digest.file_name())
    }

    /// What a reference stands for here. One with a digest may have been pulled by a tag.
    pub fn named(&self, reference: &Reference) -> Result<Option<Name>, StoreError> {
        let exact = self.read_name(reference)?;
        if exact.is_some() || reference.digest().is_none() {
            return Ok(exact);
        }
        let same = |name: &Name| {
            name.reference.registry() == reference.registry()
                && name.reference.repository() == reference.repository()
                && Some(&name.digest) == reference.digest()
        };
        Ok(self.names()?.into_iter().find(same))
    }

    fn assemble(&self, record: Record) -> Result<Image, StoreError> {
        let path = self.blob(&record.id);
        let config = fs::read(&path).map_err(failed("read", &path))?;
        let damaged = |_| StoreError::Damaged { path, source: serde::de::Error::custom("no configuration") };
        let blueprint = Blueprint::read(&config).map_err(damaged)?;
        let layers = self.stack(&record.layers)?;
        let overlays = record.mounts.iter().map(|mount| overlay(mount, &layers)).collect();
        Ok(Image { id: record.id, layers, overlays, config: blueprint.config })
    }

    /// The directories of a chain, from the last that hides all before it.
    fn stack(&self, chain: &[Digest]) -> Result<Vec<PathBuf>, StoreError> {
        let mut stack = Vec::new();
        for layer in chain {
            if self.facts(layer)?.hides_all {
                stack.clear();
            }
            stack.push(self.tree(layer));
        }
        if stack.is_empty() {
            stack.push(self.folder.join("empty"));
        }
        Ok(stack)
    }

    fn facts(&self, layer: &Digest) -> Result<Facts, StoreError> {
        record::read(&self.layer(layer).join("facts.json")).and_then(|facts| {
            facts.ok_or_else(|| {
                failed("read", &self.layer(layer).join("facts.json"))(io::ErrorKind::NotFound.into())
            })
        })
    }

    fn layer(&self, chain: &Digest) -> PathBuf {
        self.folder.join("layers").join(chain.file_name())
    }

    fn tree(&self, chain: &Digest) -> PathBuf {
        self.layer(chain).join("tree")
    }

    fn blob(&self, digest: &Digest) -> PathBuf {
        self.folder.join("blobs").join(digest.file_name())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the image has at the path lies on top of what the machine has.
fn overlay(mount: &Mount, layers: &[PathBuf]) -> SubOverlay {
    let within = mount.at.strip_prefix("/").unwrap_or(&mount.at);
    let own = layers.iter().map(|layer| layer.join(within)).filter(|path| path.is_dir());
    SubOverlay { at: mount.at.clone(), layers: std::iter::once(mount.host.clone()).chain(own).collect() }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { what, path, source }
}
