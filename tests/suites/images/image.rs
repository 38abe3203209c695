//! Images to push, built in memory.

use std::io::Write;

use anyhow::Result;
use asb_node::images::digest::Digest;
use asb_node::images::platform::Platform;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tar::{Builder, EntryType, Header};

pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// An image as a registry takes it.
#[derive(Clone)]
pub(crate) struct Image {
    pub(crate) manifest: Vec<u8>,
    pub(crate) config: Vec<u8>,
    pub(crate) layers: Vec<Vec<u8>>,
}

impl Image {
    /// Of layers, each given as its plain archive.
    pub(crate) fn of(layers: &[Vec<u8>]) -> Result<Self> {
        let platform = Platform::of_this_machine();
        let diff_ids: Vec<_> = layers.iter().map(|layer| Digest::of(layer)).collect();
        let config = json!({
            "os": platform.os, "architecture": platform.architecture, "config": {"Cmd": ["/bin/sh"]},
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
        });
        let config = config.to_string().into_bytes();
        let layers = layers.iter().map(|layer| gzip(layer)).collect::<Result<Vec<_>>>()?;
        let described: Vec<_> = layers
            .iter()
            .map(|layer| describe("application/vnd.oci.image.layer.v1.tar+gzip", layer))
            .collect();
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "layers": described,
            "config": describe("application/vnd.oci.image.config.v1+json", &config),
        });
        Ok(Self { manifest: manifest.to_string().into_bytes(), config, layers })
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.manifest)
    }

    pub(crate) fn id(&self) -> Digest {
        Digest::of(&self.config)
    }
}

/// An index with this image for this machine, and the same for one that nobody has.
pub(crate) fn index(image: &Image, other: &Image) -> Vec<u8> {
    let platform = Platform::of_this_machine();
    let mut ours = describe(MANIFEST, &image.manifest);
    ours["platform"] = json!({"os": platform.os, "architecture": platform.architecture});
    let mut foreign = describe(MANIFEST, &other.manifest);
    foreign["platform"] = json!({"os": "plan9", "architecture": "vax"});
    let kind = "application/vnd.oci.image.index.v1+json";
    json!({"schemaVersion": 2, "mediaType": kind, "manifests": [foreign, ours]}).to_string().into_bytes()
}

/// An archive with these files.
pub(crate) fn archive(files: &[(&str, &[u8])]) -> Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, name, *content)?;
    }
    Ok(archive.into_inner()?)
}

/// Bytes that do not get smaller.
pub(crate) fn noise(kilobytes: u32) -> Vec<u8> {
    let block = |number: u32| -> Vec<u8> {
        let hex = (0u32..16).map(|part| Digest::of(&[number.to_le_bytes(), part.to_le_bytes()].concat()));
        hex.flat_map(|digest| digest.hex().as_bytes().to_vec()).collect()
    };
    (0..kilobytes).flat_map(block).collect()
}

fn gzip(plain: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain)?;
    Ok(encoder.finish()?)
}

fn describe(kind: &str, content: &[u8]) -> Value {
    json!({"mediaType": kind, "digest": Digest::of(content), "size": content.len()})
}
