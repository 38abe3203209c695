//! What `docker save` writes: a list of images with their configurations and layers by name.

use serde::Deserialize;

use super::super::config::{Blueprint, InvalidConfig};
use super::super::digest::Digest;
use super::super::manifest::Manifest;
use super::super::reference::Reference;
use super::super::store::InvalidImage;
use super::{Files, Found, LoadError, Loader, malformed};

const LIST: &str = "manifest.json";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    config: String,
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
    #[serde(default)]
    layers: Vec<String>,
}

/// All images of an archive; none where it is not of this kind.
pub(super) fn images(loader: &Loader, files: &dyn Files) -> Result<Vec<Found>, LoadError> {
    entries(loader, files)?.into_iter().map(|entry| found(loader, files, entry)).collect()
}

/// Names by the place of the configuration they are for, which archives of both kinds at once have.
pub(super) fn tags(loader: &Loader, files: &dyn Files) -> Result<Vec<(String, Vec<Reference>)>, LoadError> {
    let entries = entries(loader, files)?;
    entries.into_iter().map(|entry| Ok((entry.config.clone(), entry.references()?))).collect()
}

fn entries(loader: &Loader, files: &dyn Files) -> Result<Vec<Entry>, LoadError> {
    let Some(list) = super::read(files, LIST, loader.limits.manifest_bytes)? else { return Ok(vec![]) };
    serde_json::from_slice(&list).map_err(|error| malformed(LIST, error))
}

fn found(loader: &Loader, files: &dyn Files, entry: Entry) -> Result<Found, LoadError> {
    let config = super::read_needed(files, &entry.config, loader.limits.config_bytes)?;
    let blueprint = Blueprint::read(&config).map_err(InvalidImage::from)?;
    let (listed, described) = (entry.layers.len(), blueprint.diff_ids.len());
    if listed != described {
        let error = InvalidConfig::LayerCount { manifest: listed, config: described };
        return Err(InvalidImage::Config(error).into());
    }
    let layers: Vec<(Digest, u64)> = blueprint.diff_ids.into_iter().map(|digest| (digest, 0)).collect();
    Ok(Found {
        manifest: Manifest::synthesize((&Digest::of(&config), config.len() as u64), &layers),
        config,
        references: entry.references()?,
        // What they are compressed as is nowhere said.
        layers: entry.layers.into_iter().map(|place| (place, None)).collect(),
    })
}

impl Entry {
    fn references(&self) -> Result<Vec<Reference>, LoadError> {
        let tags = self.repo_tags.iter().flatten();
        tags.map(|tag| tag.parse().map_err(|error| malformed(LIST, error))).collect()
    }
}
