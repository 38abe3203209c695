//! What registries and archives say an image is made of: an index of manifests, and a manifest of layers. Reads both
//! dialects, Docker's and that of the Open Container Initiative.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::limits::Limits;
use super::platform::Platform;

/// What may be asked for, best first.
pub const ACCEPTED: [&str; 4] = [INDEX, LIST, MANIFEST, DOCKER_MANIFEST];

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const CONFIGS: [&str; 2] =
    ["application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"];
/// How a layer is compressed is seen from its first bytes, so these need no telling apart.
const LAYERS: [&str; 7] = [
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.oci.image.layer.v1.tar+zstd",
    "application/vnd.docker.image.rootfs.diff.tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
    "application/vnd.docker.image.rootfs.diff.tar.zstd",
    "application/vnd.docker.container.image.rootfs.diff.tar.gzip",
];

/// Something that is kept elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    pub media_type: String,
    pub digest: Digest,
    pub size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
}

/// Of one platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub config: Descriptor,
    pub layers: Vec<Descriptor>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    Index(Vec<Descriptor>),
    Manifest(Manifest),
}

#[derive(Debug, thiserror::Error)]
pub enum InvalidManifest {
    #[error("the manifest does not read as one")]
    Unreadable(#[source] serde_json::Error),
    #[error("the manifest is of schema version {0}, and only 2 is known")]
    Version(u32),
    #[error("the manifest is of the unknown media type `{0}`")]
    Kind(String),
    #[error("the manifest is neither an image nor an index, or claims to be both")]
    Ambiguous,
    #[error("it is no container image: its configuration is of media type `{0}`")]
    Config(String),
    #[error("layer {digest} is of the unknown media type `{media_type}`")]
    Layer { digest: Digest, media_type: String },
    #[error("the image has {0} layers, and no more than {1} are allowed")]
    TooManyLayers(usize, usize),
    #[error("{digest} is said to have {size} bytes, and no more than {limit} are allowed")]
    TooLarge { digest: Digest, size: u64, limit: u64 },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    #[serde(default)]
    media_type: Option<String>,
    #[serde(default)]
    config: Option<Descriptor>,
    #[serde(default)]
    layers: Option<Vec<Descriptor>>,
    #[serde(default)]
    manifests: Option<Vec<Descriptor>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    schema_version: u32,
}

impl Document {
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Self, InvalidManifest> {
        let version: Version = serde_json::from_slice(bytes).map_err(InvalidManifest::Unreadable)?;
        if version.schema_version != 2 {
            return Err(InvalidManifest::Version(version.schema_version));
        }
        let raw: Raw = serde_json::from_slice(bytes).map_err(InvalidManifest::Unreadable)?;
        if let Some(kind) = raw.media_type.as_deref().filter(|kind| !ACCEPTED.contains(kind)) {
            return Err(InvalidManifest::Kind(kind.to_owned()));
        }
        raw.document()?.within(limits)
    }

    fn within(self, limits: &Limits) -> Result<Self, InvalidManifest> {
        if let Self::Manifest(manifest) = &self {
            manifest.check(limits)?;
        }
        Ok(self)
    }
}

impl Raw {
    /// What says two things at once means one to us and another to somebody else.
    fn document(self) -> Result<Document, InvalidManifest> {
        let is_index = self.media_type.as_deref().map(|kind| kind == INDEX || kind == LIST);
        match (self.config, self.layers, self.manifests) {
            (None, None, Some(manifests)) if is_index != Some(false) => Ok(Document::Index(manifests)),
            (Some(config), Some(layers), None) if is_index != Some(true) => {
                Ok(Document::Manifest(Manifest { config, layers }))
            }
            _ => Err(InvalidManifest::Ambiguous),
        }
    }
}

impl Manifest {
    fn check(&self, limits: &Limits) -> Result<(), InvalidManifest> {
        if !CONFIGS.contains(&self.config.media_type.as_str()) {
            return Err(InvalidManifest::Config(self.config.media_type.clone()));
        }
        if self.layers.len() > limits.layers {
            return Err(InvalidManifest::TooManyLayers(self.layers.len(), limits.layers));
        }
        self.config.no_larger_than(limits.config_bytes)?;
        self.layers.iter().try_for_each(|layer| layer.check(limits))
    }

    /// Of an image that came without one. Its layers are known by their plain content.
    pub fn synthesize(config: (&Digest, u64), layers: &[(Digest, u64)]) -> Vec<u8> {
        let describe = |media_type: &str, digest: &Digest, size: u64| Descriptor {
            media_type: media_type.to_owned(),
            digest: digest.clone(),
            size,
            platform: None,
            annotations: None,
        };
        let layers: Vec<_> = layers.iter().map(|(digest, size)| describe(LAYERS[3], digest, *size)).collect();
        let manifest = serde_json::json!({
            "schemaVersion": 2,
            "mediaType": DOCKER_MANIFEST,
            "config": describe(CONFIGS[1], config.0, config.1),
            "layers": layers,
        });
        manifest.to_string().into_bytes()
    }
}

impl Descriptor {
    pub fn is_manifest(&self) -> bool {
        ACCEPTED.contains(&self.media_type.as_str())
    }

    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(name).map(String::as_str)
    }

    fn check(&self, limits: &Limits) -> Result<(), InvalidManifest> {
        if !LAYERS.contains(&self.media_type.as_str()) {
            let (digest, media_type) = (self.digest.clone(), self.media_type.clone());
            return Err(InvalidManifest::Layer { digest, media_type });
        }
        self.no_larger_than(limits.blob_bytes)
    }

    pub fn no_larger_than(&self, limit: u64) -> Result<(), InvalidManifest> {
        if self.size > limit {
            return Err(InvalidManifest::TooLarge { digest: self.digest.clone(), size: self.size, limit });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn descriptor(media_type: &str, size: u64) -> Value {
        json!({"mediaType": media_type, "digest": Digest::of(b"x"), "size": size})
    }

    fn manifest(layer: &Value) -> Value {
        json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": descriptor(CONFIGS[0], 2), "layers": [layer]})
    }

    fn read(value: &Value) -> Result<Document, InvalidManifest> {
        Document::read(value.to_string().as_bytes(), &Limits::default())
    }

    fn complaint(value: &Value) -> String {
        read(value).unwrap_err().to_string()
    }

    #[test]
    fn both_dialects_read_alike() {
        let mut docker = manifest(&descriptor(LAYERS[4], 7));
        docker["mediaType"] = json!(DOCKER_MANIFEST);
        docker["config"]["mediaType"] = json!(CONFIGS[1]);
        assert!(matches!(read(&docker), Ok(Document::Manifest(it)) if it.layers[0].size == 7));
        let index = json!({"schemaVersion": 2, "manifests": [descriptor(MANIFEST, 7)]});
        assert!(matches!(read(&index), Ok(Document::Index(it)) if it.len() == 1));
    }

    #[test]
    fn a_synthesized_manifest_reads_as_one() {
        let made = Manifest::synthesize((&Digest::of(b"c"), 1), &[(Digest::of(b"l"), 2)]);
        assert!(matches!(Document::read(&made, &Limits::default()), Ok(Document::Manifest(_))));
    }

    #[test]
    fn a_layer_of_unknown_kind_is_named() {
        let complaint = complaint(&manifest(&descriptor("application/x-encrypted", 7)));
        assert!(complaint.ends_with("is of the unknown media type `application/x-encrypted`"), "{complaint}");
    }

    #[test]
    fn a_manifest_that_is_two_things_is_refused() {
        let mut both = manifest(&descriptor(LAYERS[0], 7));
        both["manifests"] = json!([descriptor(MANIFEST, 7)]);
        assert!(matches!(read(&both), Err(InvalidManifest::Ambiguous)));
        let mut posing = manifest(&descriptor(LAYERS[0], 7));
        posing["mediaType"] = json!(INDEX);
        assert!(matches!(read(&posing), Err(InvalidManifest::Ambiguous)));
    }

    #[test]
    fn old_and_foreign_kinds_are_named() {
        assert!(complaint(&json!({"schemaVersion": 1, "fsLayers": []})).contains("schema version 1"));
        let mut chart = manifest(&descriptor(LAYERS[0], 7));
        chart["config"]["mediaType"] = json!("application/vnd.cncf.helm.config.v1+json");
        assert!(complaint(&chart).starts_with("it is no container image"));
    }

    #[test]
    fn what_is_too_much_is_refused_before_it_is_fetched() {
        let limits = Limits::default();
        assert!(complaint(&manifest(&descriptor(LAYERS[0], limits.blob_bytes + 1))).contains("no more than"));
        let mut bomb = manifest(&descriptor(LAYERS[0], 7));
        bomb["config"]["size"] = json!(limits.config_bytes + 1);
        assert!(matches!(read(&bomb), Err(InvalidManifest::TooLarge { .. })));
        let mut many = manifest(&descriptor(LAYERS[0], 7));
        many["layers"] = vec![descriptor(LAYERS[0], 7); limits.layers + 1].into();
        assert!(matches!(read(&many), Err(InvalidManifest::TooManyLayers(257, 256))));
    }

    #[test]
    fn nesting_without_end_is_an_error_and_no_crash() {
        let deep = "[".repeat(1_000_000);
        assert!(matches!(
            Document::read(deep.as_bytes(), &Limits::default()),
            Err(InvalidManifest::Unreadable(_))
        ));
    }
}
