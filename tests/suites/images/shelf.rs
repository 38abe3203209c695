//! A place for images, to pull into and to look at.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use asb_node::images::pull::{Class, Progress, PullError, Pulled};
use asb_node::images::registry::{self, Keyring, Mirror, Registry, Retry};
use asb_node::images::{Images, Settings};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::watch;

pub(crate) struct Shelf {
    pub(crate) images: Images,
    pub(crate) keyring: Keyring,
    folder: TempDir,
}

/// Settings for one registry.
pub(crate) fn registry(name: &str, registry: Registry) -> registry::Settings {
    let retry = Retry { attempts: 4, first_wait_milliseconds: 10, longest_wait_milliseconds: 100 };
    let registries = BTreeMap::from([(name.to_owned(), registry)]);
    registry::Settings { registries, retry, ..registry::Settings::default() }
}

pub(crate) fn mirrors(addresses: &[&str]) -> Result<Registry> {
    let mirror = |address: &&str| -> Result<Mirror> {
        Ok(Mirror { address: address.parse()?, security: None, authorities: None })
    };
    Ok(Registry { mirrors: addresses.iter().map(mirror).collect::<Result<_>>()?, ..Registry::default() })
}

impl Shelf {
    pub(crate) fn new(registry: registry::Settings) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let settings = Settings { registry, ..Settings::default() };
        let images = Images::open(&folder.path().join("images"), settings)?;
        Ok(Self { images, keyring: Keyring::default(), folder })
    }

    pub(crate) fn plain() -> Result<Self> {
        Self::new(registry("nobody", Registry::default()))
    }

    /// As a Secret of a Pod says.
    pub(crate) fn with_password(mut self, host: &str, user: &str, password: &str) -> Result<Self> {
        let secret = json!({"auths": {host: {"username": user, "password": password}}});
        self.keyring.add(secret.to_string().as_bytes())?;
        Ok(self)
    }

    pub(crate) async fn pull(&self, reference: &str) -> Result<Pulled, PullError> {
        let (progress, _) = watch::channel(Progress::default());
        self.pull_seen(reference, &progress).await
    }

    pub(crate) async fn pull_seen(
        &self,
        reference: &str,
        progress: &watch::Sender<Progress>,
    ) -> Result<Pulled, PullError> {
        let reference = reference.parse().expect("tests name images well");
        self.images.pull(&reference, &self.keyring, progress).await
    }

    pub(crate) async fn class(&self, reference: &str) -> Class {
        self.pull(reference).await.expect_err("the pull fails").class()
    }

    /// A file in one of the layers.
    pub(crate) async fn read(&self, reference: &str, layer: usize, name: &str) -> Result<Vec<u8>> {
        let image = self.images.find(&reference.parse()?).await?.context("the image is here")?;
        Ok(fs::read(image.layers.get(layer).context("a layer")?.join(name))?)
    }

    /// What is kept of downloads.
    pub(crate) fn partial(&self) -> Result<usize> {
        Ok(fs::read_dir(self.folder.path().join("images/partial"))?.count())
    }
}
