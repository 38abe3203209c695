//! Pulls an image: finds it, fetches what the store lacks of it, several layers at a time, and brings it in.

mod blob;
mod error;
mod progress;
mod source;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::{StreamExt, TryStreamExt};
use tokio::sync::watch;
use tokio::task::spawn_blocking;

pub use self::error::{Class, PullError, PullFailure};
pub use self::progress::{LayerProgress, Progress, Stage};

use self::progress::Reporter;
use self::source::Sources;
use super::digest::Digest;
use super::limits::Limits;
use super::manifest::{Descriptor, Document};
use super::platform::Platform;
use super::reference::Reference;
use super::registry::{Keyring, Settings, Transports};
use super::store::{Draft, Import, ImportError, InvalidImage, Store};

pub struct Puller {
    store: Arc<Store>,
    settings: Settings,
    limits: Limits,
    platform: Platform,
    transports: Transports,
    /// A blob that two images want is fetched once.
    turns: Mutex<HashMap<Digest, Arc<tokio::sync::Mutex<()>>>>,
}

/// What a reference turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    pub id: Digest,
    /// What the registry knows it by.
    pub digest: Digest,
}

impl Puller {
    pub fn new(store: Arc<Store>, settings: Settings, limits: Limits, platform: Platform) -> Self {
        let transports = Transports::new(&settings);
        Self { store, settings, limits, platform, transports, turns: Mutex::default() }
    }

    /// Brings the image that `reference` means at the registry now into the store. A download that breaks off, or a
    /// future that is dropped, is gone on with by the next pull.
    pub async fn pull(
        &self,
        reference: &Reference,
        keyring: &Keyring,
        progress: &watch::Sender<Progress>,
    ) -> Result<Pulled, PullError> {
        let pulled = self.attempt(reference, keyring, progress).await;
        pulled.map_err(|failure| PullError { reference: reference.clone(), failure })
    }

    async fn attempt(
        &self,
        reference: &Reference,
        keyring: &Keyring,
        progress: &watch::Sender<Progress>,
    ) -> Result<Pulled, PullFailure> {
        let sources = Sources::of(&self.settings, &self.transports, reference, keyring)?;
        let (draft, digest) = self.resolve(&sources, reference).await?;
        let import = Arc::new(Import::begin(Arc::clone(&self.store), draft, &self.limits));
        let missing = import.missing();
        let reporter = Reporter::begin(progress, import.draft().layers(), &missing);
        self.fetch_layers(&sources, &import, &missing, &reporter).await?;
        let names = vec![(reference.clone(), digest.clone())];
        let finished = Arc::clone(&import);
        let id = spawn_blocking(move || finished.finish(&names)).await.map_err(PullFailure::Ended)??;
        self.forget_downloads(import.draft().layers());
        Ok(Pulled { id, digest })
    }

    /// The image for this platform, and the digest that the reference stands for.
    async fn resolve(
        &self,
        sources: &Sources,
        reference: &Reference,
    ) -> Result<(Draft, Digest), PullFailure> {
        let limit = self.limits.manifest_bytes;
        let version = reference.version();
        let (bytes, digest) = sources.ask(|remote| remote.manifest(&version, limit)).await?;
        let manifest = match Document::read(&bytes, &self.limits).map_err(InvalidImage::Manifest)? {
            Document::Manifest(_) => bytes,
            Document::Index(offers) => self.chosen(sources, &offers).await?,
        };
        let Document::Manifest(read) =
            Document::read(&manifest, &self.limits).map_err(InvalidImage::Manifest)?
        else {
            return Err(InvalidImage::Index.into());
        };
        let config = sources.ask(|remote| remote.blob(&read.config.digest, read.config.size)).await?;
        Ok((Draft::new(manifest, config, &self.platform, &self.limits)?, digest))
    }

    async fn chosen(&self, sources: &Sources, offers: &[Descriptor]) -> Result<Vec<u8>, PullFailure> {
        let offer =
            self.platform.choose(offers).ok_or_else(|| PullFailure::Platform(self.platform.clone()))?;
        let version = offer.digest.to_string();
        let (bytes, _) = sources.ask(|remote| remote.manifest(&version, self.limits.manifest_bytes)).await?;
        Ok(bytes)
    }

    async fn fetch_layers(
        &self,
        sources: &Sources,
        import: &Arc<Import>,
        missing: &[usize],
        reporter: &Reporter<'_>,
    ) -> Result<(), PullFailure> {
        // By value: what borrows from the list could not be sent to another thread.
        let fetches = missing.iter().copied();
        let fetches = fetches.map(|index| self.fetch_layer(sources, import, index, reporter));
        let at_once = self.settings.parallel_layers.max(1);
        futures::stream::iter(fetches).buffer_unordered(at_once).try_collect::<Vec<()>>().await.map(drop)
    }

    async fn fetch_layer(
        &self,
        sources: &Sources,
        import: &Arc<Import>,
        index: usize,
        reporter: &Reporter<'_>,
    ) -> Result<(), PullFailure> {
        let layer = import.draft().layers()[index].clone();
        let _kept = self.store.download(&layer.digest);
        let file = self.fetch_blob(sources, &layer, |bytes| reporter.fetched(index, bytes)).await?;
        reporter.enter(index, Stage::Unpacking);
        let into = Arc::clone(import);
        spawn_blocking(move || into.add(index, file)).await.map_err(PullFailure::Ended)??;
        reporter.enter(index, Stage::Done);
        Ok(())
    }

    /// Layers are kept unpacked only.
    fn forget_downloads(&self, layers: &[Descriptor]) {
        for layer in layers {
            self.store.forget_download(&layer.digest);
        }
        self.turns
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|_, turn| Arc::strong_count(turn) > 1);
    }
}

impl From<ImportError> for PullFailure {
    fn from(error: ImportError) -> Self {
        Self::Import(error)
    }
}
