//! Images: from a name to layers on this machine's disk and what the image says of its processes. Knows nothing of Pods.
//!
//! Everything here is asynchronous or quick, but for what says that it blocks.

mod beneath;
pub mod config;
pub mod digest;
#[cfg(test)]
mod fixture;
pub mod host;
mod inheritance;
pub mod limits;
pub mod load;
pub mod manifest;
mod merged;
pub mod platform;
pub mod pull;
pub mod reference;
pub mod registry;
pub mod store;
pub mod unpack;
pub mod users;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::{JoinError, spawn_blocking};

use self::host::HostError;
use self::limits::Limits;
use self::load::{LoadError, Loaded, Loader};
use self::platform::Platform;
use self::pull::{Progress, PullError, Pulled, Puller};
use self::reference::Reference;
use self::registry::Keyring;
use self::store::{Image, Store, StoreError};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Settings {
    pub registry: registry::Settings,
    pub limits: Limits,
}

/// The images of this machine, and the ways for more to come in.
pub struct Images {
    store: Arc<Store>,
    puller: Puller,
    loader: Arc<Loader>,
    limits: Limits,
}

/// What went wrong with an image that is or ought to be here.
#[derive(Debug, thiserror::Error)]
pub enum ImagesError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("the work on an image was ended")]
    Ended(#[from] JoinError),
}

impl Images {
    /// Those kept in `folder`. Blocks while an earlier process's leavings are swept.
    pub fn open(folder: &Path, settings: Settings) -> Result<Self, StoreError> {
        let store = Arc::new(Store::open(folder)?);
        let Settings { registry, limits } = settings;
        let platform = Platform::of_this_machine();
        let puller = Puller::new(Arc::clone(&store), registry, limits.clone(), platform.clone());
        let loader = Arc::new(Loader::new(Arc::clone(&store), limits.clone(), platform));
        Ok(Self { store, puller, loader, limits })
    }

    /// Where they are: to list, pin, remove and prune.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The image that a reference means here, if it is here. The built-in one always is, and is that of the system as it
    /// is now.
    pub async fn find(&self, reference: &Reference) -> Result<Option<Image>, ImagesError> {
        let (store, limits, reference) = (Arc::clone(&self.store), self.limits.clone(), reference.clone());
        let find = move || {
            if reference == host::reference() {
                let id = host::provide(&store, Path::new("/"), &limits)?;
                return Ok(store.image(&id)?);
            }
            Ok(store.find(&reference)?)
        };
        spawn_blocking(find).await?
    }

    pub async fn pull(
        &self,
        reference: &Reference,
        keyring: &Keyring,
        progress: &watch::Sender<Progress>,
    ) -> Result<Pulled, PullError> {
        self.puller.pull(reference, keyring, progress).await
    }

    /// Brings in what is at `path`: a layout as a directory or an archive, or what `docker save` wrote.
    pub async fn load(&self, path: PathBuf) -> Result<Vec<Loaded>, ImagesError> {
        let loader = Arc::clone(&self.loader);
        Ok(spawn_blocking(move || loader.load(&path)).await??)
    }
}
