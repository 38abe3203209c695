//! What an image says of the processes made from it, as plain values. Leaves it to others to do so.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer};

use super::digest::{Digest, Hasher};
use super::platform::Platform;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageConfig {
    pub entrypoint: Vec<String>,
    pub cmd: Vec<String>,
    /// `NAME=value`, in the image's order.
    pub env: Vec<String>,
    /// Empty, or a user with or without a group, by name or number.
    pub user: String,
    /// Empty means `/`.
    pub working_dir: String,
    /// A name or a number; SIGTERM where nothing is said.
    pub stop_signal: Option<String>,
    /// Paths that the image wants to be volumes.
    pub volumes: Vec<String>,
    pub labels: BTreeMap<String, String>,
    /// `80/tcp` and the like.
    pub exposed_ports: Vec<String>,
    /// As it was written.
    pub created: Option<String>,
}

/// The whole of an image's configuration: the above, and what its layers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blueprint {
    pub config: ImageConfig,
    pub platform: Platform,
    /// Of each layer's plain archive, lowest first.
    pub diff_ids: Vec<Digest>,
}

#[derive(Debug, thiserror::Error)]
pub enum InvalidConfig {
    #[error("the image's configuration does not read as one")]
    Unreadable(#[source] serde_json::Error),
    #[error("the image is for {image}, and this machine runs {machine}")]
    Platform { image: String, machine: String },
    #[error("the image's files are of the unknown kind `{0}`")]
    RootFs(String),
    #[error("the image's manifest has {manifest} layers and its configuration {config}")]
    LayerCount { manifest: usize, config: usize },
}

#[derive(Deserialize)]
struct Raw {
    #[serde(default, deserialize_with = "lenient")]
    os: String,
    #[serde(default, deserialize_with = "lenient")]
    architecture: String,
    #[serde(default)]
    variant: Option<String>,
    #[serde(default)]
    created: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    config: Process,
    rootfs: RootFs,
}

#[derive(Deserialize)]
struct RootFs {
    #[serde(rename = "type", default, deserialize_with = "lenient")]
    kind: String,
    #[serde(default, deserialize_with = "lenient")]
    diff_ids: Vec<Digest>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Process {
    #[serde(deserialize_with = "lenient")]
    entrypoint: Vec<String>,
    #[serde(deserialize_with = "lenient")]
    cmd: Vec<String>,
    #[serde(deserialize_with = "lenient")]
    env: Vec<String>,
    #[serde(deserialize_with = "lenient")]
    user: String,
    #[serde(deserialize_with = "lenient")]
    working_dir: String,
    stop_signal: Option<String>,
    #[serde(deserialize_with = "lenient")]
    volumes: BTreeMap<String, serde_json::Value>,
    #[serde(deserialize_with = "lenient")]
    labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "lenient")]
    exposed_ports: BTreeMap<String, serde_json::Value>,
}

/// Docker writes `null` for what is empty.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

impl Blueprint {
    pub fn read(bytes: &[u8]) -> Result<Self, InvalidConfig> {
        let raw: Raw = serde_json::from_slice(bytes).map_err(InvalidConfig::Unreadable)?;
        if !matches!(raw.rootfs.kind.as_str(), "" | "layers") {
            return Err(InvalidConfig::RootFs(raw.rootfs.kind));
        }
        let platform = Platform { os: raw.os, architecture: raw.architecture, variant: raw.variant };
        Ok(Self { config: raw.config.plain(raw.created), platform, diff_ids: raw.rootfs.diff_ids })
    }

    /// Refuses an image that is for another machine. One that does not say is taken at its word.
    pub fn runs_on(self, machine: &Platform) -> Result<Self, InvalidConfig> {
        let differs = |said: &str, ours: &str| !said.is_empty() && said != ours;
        let offered = &self.platform;
        if differs(&offered.os, &machine.os) || differs(&offered.architecture, &machine.architecture) {
            let (image, machine) = (self.platform.to_string(), machine.to_string());
            return Err(InvalidConfig::Platform { image, machine });
        }
        Ok(self)
    }

    pub fn has_layers(self, manifest: usize) -> Result<Self, InvalidConfig> {
        let config = self.diff_ids.len();
        if manifest == config { Ok(self) } else { Err(InvalidConfig::LayerCount { manifest, config }) }
    }

    /// What each layer is known by together with all below it. A layer that does not say what it takes for granted of
    /// those below (a directory's mode) is another layer on other ones.
    pub fn chain(&self) -> Vec<Digest> {
        let mut chain: Vec<Digest> = Vec::new();
        for layer in &self.diff_ids {
            let next = match chain.last() {
                None => layer.clone(),
                Some(below) => both(below, layer),
            };
            chain.push(next);
        }
        chain
    }
}

fn both(below: &Digest, layer: &Digest) -> Digest {
    let mut hasher = Hasher::new(super::digest::Algorithm::Sha256);
    hasher.update(format!("{below} {layer}").as_bytes());
    hasher.finish()
}

impl Process {
    fn plain(self, created: Option<String>) -> ImageConfig {
        ImageConfig {
            entrypoint: self.entrypoint,
            cmd: self.cmd,
            env: self.env,
            user: self.user,
            working_dir: self.working_dir,
            stop_signal: self.stop_signal.filter(|signal| !signal.is_empty()),
            volumes: self.volumes.into_keys().collect(),
            labels: self.labels,
            exposed_ports: self.exposed_ports.into_keys().collect(),
            created,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(value: &Value) -> Result<Blueprint, InvalidConfig> {
        Blueprint::read(value.to_string().as_bytes())
    }

    #[test]
    fn everything_an_image_says_is_kept() {
        let read = read(&json!({
            "os": "linux", "architecture": "amd64", "created": "2026-01-02T03:04:05Z",
            "config": {
                "Entrypoint": ["/init"], "Cmd": ["serve"], "Env": ["A=1", "B=2"], "User": "app:grp",
                "WorkingDir": "/srv", "StopSignal": "SIGQUIT", "Volumes": {"/data": {}},
                "Labels": {"a": "b"}, "ExposedPorts": {"80/tcp": {}},
            },
            "rootfs": {"type": "layers", "diff_ids": [Digest::of(b"")]},
        }));
        insta::assert_debug_snapshot!(read.unwrap().config);
    }

    #[test]
    fn nothing_said_and_null_are_the_same() {
        let silent = read(&json!({"rootfs": {}})).unwrap();
        let null = read(&json!({
            "os": null, "architecture": null, "config": {"Cmd": null, "Env": null, "Volumes": null, "User": null},
            "rootfs": {"type": "layers", "diff_ids": null},
        }));
        assert_eq!(silent, null.unwrap());
        assert_eq!(read(&json!({"config": null, "rootfs": {}})).unwrap(), silent);
    }

    #[test]
    fn an_image_for_another_machine_is_refused() {
        let machine = Platform { os: "linux".into(), architecture: "amd64".into(), variant: None };
        let other = read(&json!({"os": "linux", "architecture": "arm64", "rootfs": {}})).unwrap();
        let complaint = other.runs_on(&machine).unwrap_err().to_string();
        assert_eq!(complaint, "the image is for linux/arm64, and this machine runs linux/amd64");
        assert!(read(&json!({"rootfs": {}})).unwrap().runs_on(&machine).is_ok());
    }

    #[test]
    fn a_layer_is_another_one_on_other_layers() {
        let with = |layers: &[&[u8]]| {
            let layers: Vec<_> = layers.iter().map(|layer| Digest::of(layer)).collect();
            read(&json!({"rootfs": {"diff_ids": layers}})).unwrap().chain()
        };
        let (one, other) = (with(&[b"a", b"c"]), with(&[b"b", b"c"]));
        assert_eq!(one[0], Digest::of(b"a"));
        assert_ne!(one[1], other[1]);
        assert_eq!(one, with(&[b"a", b"c"]));
    }

    #[test]
    fn layers_that_do_not_add_up_are_refused() {
        let complaint = read(&json!({"rootfs": {}})).unwrap().has_layers(2).unwrap_err().to_string();
        assert_eq!(complaint, "the image's manifest has 2 layers and its configuration 0");
    }
}
