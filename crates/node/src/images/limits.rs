//! How much an image may ask of this machine before it is taken for an attack.

use serde::{Deserialize, Serialize};

/// The defaults let every image pass that is in honest use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Limits {
    /// Of a manifest or an index of manifests.
    pub manifest_bytes: u64,
    /// Of an image's configuration.
    pub config_bytes: u64,
    /// Overlayfs stacks no more than 500.
    pub layers: usize,
    /// Of one layer as it comes.
    pub blob_bytes: u64,
    /// Of one layer, unpacked; holes in files count.
    pub layer_bytes: u64,
    /// How many times larger a layer may get by unpacking, once it is beyond `ratio_from` bytes.
    pub ratio: u64,
    pub ratio_from: u64,
    /// Files, directories and links of one layer.
    pub entries: u64,
    /// Directories above a file.
    pub depth: usize,
    /// Of a file's path and of a link's target.
    pub path_bytes: usize,
    /// Of the extra headers of one file, its extended attributes included.
    pub header_bytes: u64,
    /// Extended attributes of one file, and the bytes of each.
    pub xattrs: usize,
    pub xattr_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            manifest_bytes: 4 << 20,
            config_bytes: 8 << 20,
            layers: 256,
            blob_bytes: 64 << 30,
            layer_bytes: 128 << 30,
            ratio: 200,
            ratio_from: 1 << 30,
            entries: 4_000_000,
            depth: 256,
            path_bytes: 4095,
            header_bytes: 1 << 20,
            xattrs: 64,
            xattr_bytes: 64 << 10,
        }
    }
}
