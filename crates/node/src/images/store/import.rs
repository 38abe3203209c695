//! Brings an image into the store. Its layers are unpacked in `scratch`, in any order and at the same time; then all of it
//! gets its place at once, the record last.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::syncfs;

use super::record::{Mount, Name, Record};
use super::scratch::Scratch;
use super::{State, Store, StoreError, failed};
use crate::images::config::{Blueprint, InvalidConfig};
use crate::images::digest::Digest;
use crate::images::inheritance;
use crate::images::limits::Limits;
use crate::images::manifest::{Descriptor, Document, InvalidManifest, Manifest};
use crate::images::merged::Merged;
use crate::images::platform::Platform;
use crate::images::reference::Reference;
use crate::images::unpack::{UnpackError, Unpacked, unpack};

/// An image of which all is known but its files.
#[derive(Clone, Debug)]
pub struct Draft {
    manifest: Vec<u8>,
    digest: Digest,
    config: Vec<u8>,
    id: Digest,
    blueprint: Blueprint,
    layers: Vec<Descriptor>,
}

#[derive(Debug, thiserror::Error)]
pub enum InvalidImage {
    #[error(transparent)]
    Manifest(#[from] InvalidManifest),
    #[error(transparent)]
    Config(#[from] InvalidConfig),
    #[error("an index of images was found where one image was expected")]
    Index,
    #[error("the image's configuration is {found}, and {expected} was expected")]
    ConfigDigest { expected: Digest, found: Digest },
}

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("layer {layer}: {source}")]
    Layer { layer: Digest, source: UnpackError },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An image on its way into the store. What it needs of the store stays there meanwhile.
pub struct Import {
    store: Arc<Store>,
    draft: Draft,
    chain: Vec<Digest>,
    mounts: Vec<Mount>,
    unpacked: Mutex<BTreeMap<usize, Layer>>,
    limits: Limits,
}

struct Layer {
    scratch: Scratch,
    unpacked: Unpacked,
}

impl Draft {
    /// Refuses what is not an image for `machine`.
    pub fn new(
        manifest: Vec<u8>,
        config: Vec<u8>,
        machine: &Platform,
        limits: &Limits,
    ) -> Result<Self, InvalidImage> {
        let Document::Manifest(Manifest { config: expected, layers }) = Document::read(&manifest, limits)?
        else {
            return Err(InvalidImage::Index);
        };
        let id = expected.digest.again(&config);
        if id != expected.digest {
            return Err(InvalidImage::ConfigDigest { expected: expected.digest, found: id });
        }
        let blueprint = Blueprint::read(&config)?.runs_on(machine)?.has_layers(layers.len())?;
        Ok(Self { digest: Digest::of(&manifest), manifest, config, id, blueprint, layers })
    }

    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    pub fn id(&self) -> &Digest {
        &self.id
    }

    /// As they come, lowest first.
    pub fn layers(&self) -> &[Descriptor] {
        &self.layers
    }
}

impl Import {
    pub fn begin(store: Arc<Store>, draft: Draft, limits: &Limits) -> Self {
        let chain = draft.blueprint.chain();
        store.hold(&chain);
        let limits = limits.clone();
        Self { store, draft, chain, mounts: vec![], unpacked: Mutex::default(), limits }
    }

    /// With directories of this machine within the image.
    #[must_use]
    pub fn with_mounts(mut self, mounts: Vec<Mount>) -> Self {
        self.mounts = mounts;
        self
    }

    pub fn draft(&self) -> &Draft {
        &self.draft
    }

    /// Which layers the store does not have yet.
    pub fn missing(&self) -> Vec<usize> {
        (0..self.chain.len()).filter(|index| !self.store.layer(&self.chain[*index]).is_dir()).collect()
    }

    /// Unpacks one layer. Blocks until it is done.
    pub fn add(&self, index: usize, reader: impl Read) -> Result<(), ImportError> {
        let scratch = self.store.scratch();
        let tree = scratch.path().join("tree");
        self.store.faults.step().and_then(|()| make_tree(&tree)).map_err(failed("make", &tree))?;
        let diff_id = &self.draft.blueprint.diff_ids[index];
        let unpacked = unpack(reader, diff_id, &tree, &self.limits)
            .map_err(|source| ImportError::Layer { layer: diff_id.clone(), source })?;
        self.layers().insert(index, Layer { scratch, unpacked });
        Ok(())
    }

    /// Gives everything its place, under these names. Without names too it is an image of the store.
    pub fn finish(&self, names: &[(Reference, Digest)]) -> Result<Digest, ImportError> {
        let layers = std::mem::take(&mut *self.layers());
        self.complete(&layers)?;
        let state = self.store.state();
        for (index, layer) in &layers {
            self.place(&state, *index, layer)?;
        }
        self.commit(names)?;
        Ok(self.draft.id.clone())
    }

    /// Lets directories that a layer takes for granted look as below it, and sees that all of it is on disk.
    fn complete(&self, layers: &BTreeMap<usize, Layer>) -> Result<(), StoreError> {
        for (index, layer) in layers {
            let tree = layer.scratch.path().join("tree");
            let below = self.below(*index, layers)?;
            let inherit = || inheritance::inherit(&tree, &layer.unpacked.implicit, &Merged::of(&below)?);
            self.store.faults.step().and_then(|()| inherit()).map_err(failed("write", &tree))?;
            let facts = layer.scratch.path().join("facts.json");
            self.store.write_json(&facts, &layer.unpacked.facts)?;
        }
        if layers.is_empty() {
            return Ok(());
        }
        let scratch = self.store.folder.join("scratch");
        let sync = || Ok(syncfs(File::open(&scratch)?)?);
        self.store.faults.step().and_then(|()| sync()).map_err(failed("sync", &scratch))
    }

    fn below(&self, index: usize, layers: &BTreeMap<usize, Layer>) -> Result<Vec<PathBuf>, StoreError> {
        let mut below = Vec::new();
        for lower in 0..index {
            let (tree, hides_all) = match layers.get(&lower) {
                Some(layer) => (layer.scratch.path().join("tree"), layer.unpacked.facts.hides_all),
                None => {
                    (self.store.tree(&self.chain[lower]), self.store.facts(&self.chain[lower])?.hides_all)
                }
            };
            if hides_all {
                below.clear();
            }
            below.push(tree);
        }
        Ok(below)
    }

    /// Another import may have been first.
    fn place(&self, _state: &State, index: usize, layer: &Layer) -> Result<(), StoreError> {
        let place = self.store.layer(&self.chain[index]);
        if place.is_dir() {
            return Ok(());
        }
        self.store.publish(layer.scratch.path(), &place).map_err(failed("make", &place))
    }

    fn commit(&self, names: &[(Reference, Digest)]) -> Result<(), StoreError> {
        let Draft { manifest, digest, config, id, .. } = &self.draft;
        let store = &self.store;
        store.write(&store.blob(id), config)?;
        store.write(&store.blob(digest), manifest)?;
        let layers = self.chain.clone();
        let record = Record { id: id.clone(), manifest: digest.clone(), layers, mounts: self.mounts.clone() };
        store.write_json(&store.record_path(id), &record)?;
        names.iter().try_for_each(|(reference, digest)| {
            let name = Name { reference: reference.clone(), id: id.clone(), digest: digest.clone() };
            store.write_json(&store.name_path(reference), &name)
        })
    }

    fn layers(&self) -> std::sync::MutexGuard<'_, BTreeMap<usize, Layer>> {
        self.unpacked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Import {
    fn drop(&mut self) {
        self.store.release(&self.chain);
    }
}

impl Store {
    /// Keeps layers from being taken for garbage.
    fn hold(&self, chain: &[Digest]) {
        let mut state = self.state();
        for layer in chain {
            *state.held.entry(layer.clone()).or_default() += 1;
        }
    }

    fn release(&self, chain: &[Digest]) {
        let mut state = self.state();
        for layer in chain {
            if let Some(count) = state.held.get_mut(layer) {
                *count -= 1;
            }
        }
        state.held.retain(|_, count| *count > 0);
    }
}

/// What an image's root looks like where the image does not say.
fn make_tree(path: &std::path::Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)?;
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
}
