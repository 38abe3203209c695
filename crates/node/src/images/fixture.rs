//! Archives and images for tests, also such as no honest tool would write.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use tar::{EntryType, Header};

use super::digest::Digest;

const BLOCK: usize = 512;

/// An archive, entry after entry.
#[derive(Clone, Default)]
pub(crate) struct Tar {
    bytes: Vec<u8>,
    /// For the next entry.
    uid: u64,
    gid: u64,
    mtime: u64,
}

impl Tar {
    pub(crate) fn new() -> Self {
        Self { mtime: 1_000_000, ..Self::default() }
    }

    pub(crate) fn owned_by(mut self, uid: u64, gid: u64) -> Self {
        (self.uid, self.gid) = (uid, gid);
        self
    }

    pub(crate) fn at(mut self, mtime: u64) -> Self {
        self.mtime = mtime;
        self
    }

    pub(crate) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.add(b'0', name, 0o644, "", content.as_ref())
    }

    pub(crate) fn mode(self, name: &str, mode: u32) -> Self {
        self.add(b'0', name, mode, "", b"")
    }

    pub(crate) fn directory(self, name: &str, mode: u32) -> Self {
        self.add(b'5', name, mode, "", b"")
    }

    pub(crate) fn symlink(self, name: &str, target: &str) -> Self {
        self.add(b'2', name, 0o777, target, b"")
    }

    pub(crate) fn link(self, name: &str, target: &str) -> Self {
        self.add(b'1', name, 0o644, target, b"")
    }

    pub(crate) fn kind(self, kind: u8, name: &str) -> Self {
        self.add(kind, name, 0o640, "", b"")
    }

    /// Records for the entry that follows.
    pub(crate) fn records(self, records: &[(&str, &[u8])]) -> Self {
        let bytes: Vec<u8> = records.iter().flat_map(|(key, value)| record(key, value)).collect();
        self.add(b'x', "extra", 0o644, "", &bytes)
    }

    pub(crate) fn xattr(self, name: &str, value: &[u8]) -> Self {
        self.records(&[(&format!("SCHILY.xattr.{name}"), value)])
    }

    pub(crate) fn add(mut self, kind: u8, name: &str, mode: u32, target: &str, data: &[u8]) -> Self {
        let header = self.header(kind, name, mode, target, data.len() as u64);
        self.raw(&header, data)
    }

    /// The header as it is.
    pub(crate) fn raw(mut self, header: &Header, data: &[u8]) -> Self {
        self.bytes.extend(header.as_bytes());
        self.bytes.extend(data);
        self.bytes.resize(self.bytes.len().next_multiple_of(BLOCK), 0);
        self
    }

    pub(crate) fn header(&mut self, kind: u8, name: &str, mode: u32, target: &str, size: u64) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::new(kind));
        // Not by the methods meant for it, which refuse what is hostile.
        let gnu = header.as_gnu_mut().unwrap();
        gnu.name[..name.len()].copy_from_slice(name.as_bytes());
        gnu.linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_mode(mode);
        header.set_uid(self.uid);
        header.set_gid(self.gid);
        header.set_mtime(self.mtime);
        header.set_size(size);
        header.set_cksum();
        header
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len() + 2 * BLOCK, 0);
        self.bytes
    }
}

/// A record that says its own length.
fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = [b" ", key.as_bytes(), b"=", value, b"\n"].concat();
    let length = |digits: usize| (rest.len() + digits).to_string();
    let fitting = (1..20).map(length).zip(1..).find(|(text, digits)| text.len() == *digits);
    [fitting.unwrap().0.into_bytes(), rest].concat()
}

pub(crate) fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// An image of these layers, each given as its plain archive, as its parts are.
pub(crate) struct Parts {
    pub(crate) manifest: Vec<u8>,
    pub(crate) config: Vec<u8>,
    /// Compressed.
    pub(crate) layers: Vec<Vec<u8>>,
}

impl Parts {
    pub(crate) fn of(layers: &[Vec<u8>], config: &serde_json::Value) -> Self {
        let diff_ids: Vec<_> = layers.iter().map(|layer| Digest::of(layer)).collect();
        let platform = super::platform::Platform::of_this_machine();
        let config = json!({
            "os": platform.os, "architecture": platform.architecture, "config": config,
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
        });
        let config = config.to_string().into_bytes();
        let layers: Vec<_> = layers.iter().map(|layer| gzip(layer)).collect();
        let describe = |kind: &str, content: &[u8]| json!({"mediaType": kind, "digest": Digest::of(content), "size": content.len()});
        let described: Vec<_> = layers
            .iter()
            .map(|layer| describe("application/vnd.oci.image.layer.v1.tar+gzip", layer))
            .collect();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": describe("application/vnd.oci.image.config.v1+json", &config),
            "layers": described,
        });
        Self { manifest: manifest.to_string().into_bytes(), config, layers }
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.manifest)
    }

    pub(crate) fn id(&self) -> Digest {
        Digest::of(&self.config)
    }
}
