//! Layouts of the Open Container Initiative: an index that names manifests, and blobs by their digests.

use serde::Deserialize;

use super::super::digest::Digest;
use super::super::manifest::{Descriptor, Document, Manifest};
use super::super::reference::Reference;
use super::{Files, Found, LoadError, Loader, docker, malformed};

const INDEX: &str = "index.json";
/// What containerd and Docker write the whole name into, and what others do.
const NAMES: [&str; 2] = ["io.containerd.image.name", "org.opencontainers.image.ref.name"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    #[serde(default)]
    manifests: Vec<Descriptor>,
}

pub(super) fn place(digest: &Digest) -> String {
    format!("blobs/{}/{}", digest.algorithm(), digest.hex())
}

/// All images of a layout that run here; none where it is no layout.
pub(super) fn images(loader: &Loader, files: &dyn Files) -> Result<Vec<Found>, LoadError> {
    let limit = loader.limits.manifest_bytes;
    let Some(index) = super::read(files, INDEX, limit)? else { return Ok(vec![]) };
    let index: Index = serde_json::from_slice(&index).map_err(|error| malformed(INDEX, error))?;
    let tags = docker::tags(loader, files)?;
    let mut images: Vec<Found> = Vec::new();
    let mut unfit = false;
    for entry in index.manifests.iter().filter(|entry| entry.is_manifest()) {
        let Some((bytes, manifest)) = manifest(loader, files, entry)? else {
            unfit = true;
            continue;
        };
        let names = names(entry, &tags, &manifest);
        match images.iter_mut().find(|known| known.manifest == bytes) {
            Some(known) => known.references.extend(names),
            None => images.push(found(loader, files, bytes, manifest, names)?),
        }
    }
    if images.is_empty() && unfit {
        return Err(LoadError::Platform(loader.platform.clone()));
    }
    Ok(images)
}

/// The manifest for this platform that an entry leads to, if there is one.
fn manifest(
    loader: &Loader,
    files: &dyn Files,
    entry: &Descriptor,
) -> Result<Option<(Vec<u8>, Manifest)>, LoadError> {
    let limit = loader.limits.manifest_bytes;
    let mut entry = entry.clone();
    // An index of an index of manifests is as deep as it gets.
    for _ in 0..3 {
        let bytes = super::read_blob(files, &entry, limit)?;
        match loader.document(&bytes)? {
            Document::Manifest(manifest) => return Ok(Some((bytes, manifest))),
            Document::Index(offers) => match loader.platform.choose(&offers) {
                Some(offer) => entry = offer.clone(),
                None => return Ok(None),
            },
        }
    }
    Err(malformed(INDEX, "it leads from index to index"))
}

fn found(
    loader: &Loader,
    files: &dyn Files,
    bytes: Vec<u8>,
    manifest: Manifest,
    references: Vec<Reference>,
) -> Result<Found, LoadError> {
    let config = super::read_blob(files, &manifest.config, loader.limits.config_bytes)?;
    let layers = manifest.layers.iter().map(|layer| (place(&layer.digest), Some(layer.digest.clone())));
    Ok(Found { manifest: bytes, config, references, layers: layers.collect() })
}

/// A tag alone is no name: it says which of many, and not of what.
fn names(entry: &Descriptor, tags: &[(String, Vec<Reference>)], manifest: &Manifest) -> Vec<Reference> {
    let said =
        NAMES.iter().filter_map(|name| entry.annotation(name)).filter(|name| name.contains(['/', ':']));
    let mut names: Vec<Reference> = said.filter_map(|name| name.parse().ok()).take(1).collect();
    let config = place(&manifest.config.digest);
    let also = tags.iter().filter(|(place, _)| *place == config).flat_map(|(_, names)| names.iter().cloned());
    names.extend(also);
    names.sort();
    names.dedup();
    names
}
