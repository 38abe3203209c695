//! An image of one layer as an archive: the layout of the Open Container Initiative, with the list beside it that
//! `docker load` looks for. Pure: the same files and facts give the same bytes.

use std::io::Write;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use super::facts::Facts;

/// Nobody in particular; the same that many images without a user database have.
const USER: &str = "65532:65532";
const ENTRY: [&str; 2] = ["/asb", "operator"];
const PORTS: [&str; 3] = ["8080/tcp", "8081/tcp", "9443/tcp"];

/// A file of the image.
pub(super) struct File {
    /// Without a leading slash.
    pub(super) place: &'static str,
    pub(super) mode: u32,
    pub(super) content: Vec<u8>,
}

pub(super) struct Image {
    /// Of its manifest, by which registries know it.
    pub(super) digest: String,
    files: Vec<(String, Vec<u8>)>,
}

/// Something that is known by its digest.
struct Blob {
    digest: String,
    content: Vec<u8>,
}

pub(super) fn image(facts: &Facts, files: &[File]) -> Result<Image> {
    let plain = layer(files)?;
    let layer = Blob::of(compressed(&plain)?);
    let config = Blob::of(configuration(facts, &digest(&plain)).to_string().into_bytes());
    let manifest = Blob::of(manifest(&config, &layer).to_string().into_bytes());
    let index = index(facts, &manifest);
    let list = json!([{"Config": config.place(), "RepoTags": [facts.name], "Layers": [layer.place()]}]);
    let mut files = vec![
        ("oci-layout".to_owned(), json!({"imageLayoutVersion": "1.0.0"}).to_string().into_bytes()),
        ("index.json".to_owned(), index.to_string().into_bytes()),
        ("manifest.json".to_owned(), list.to_string().into_bytes()),
    ];
    let digest = manifest.digest.clone();
    files.extend([config, manifest, layer].map(|blob| (blob.place(), blob.content)));
    Ok(Image { digest, files })
}

impl Image {
    pub(super) fn archive(&self) -> Result<Vec<u8>> {
        let mut builder = Builder::new(Vec::new());
        for (place, content) in &self.files {
            append(&mut builder, place, 0o644, content)?;
        }
        builder.into_inner().context("finish the archive")
    }
}

impl Blob {
    fn of(content: Vec<u8>) -> Self {
        Self { digest: digest(&content), content }
    }

    fn place(&self) -> String {
        format!("blobs/{}", self.digest.replace(':', "/"))
    }

    fn descriptor(&self, kind: &str) -> Value {
        json!({"mediaType": kind, "digest": self.digest, "size": self.content.len()})
    }
}

fn layer(files: &[File]) -> Result<Vec<u8>> {
    let mut builder = Builder::new(Vec::new());
    for file in files {
        append(&mut builder, file.place, file.mode, &file.content)?;
    }
    builder.into_inner().context("finish the layer")
}

fn compressed(plain: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain)?;
    encoder.finish().context("compress the layer")
}

fn configuration(facts: &Facts, layer: &str) -> Value {
    let ports: serde_json::Map<_, _> = PORTS.iter().map(|port| ((*port).to_owned(), json!({}))).collect();
    json!({
        "created": facts.created,
        "architecture": architecture(std::env::consts::ARCH),
        "os": "linux",
        "config": {
            "User": USER,
            "Entrypoint": ENTRY,
            "WorkingDir": "/",
            "ExposedPorts": ports,
            "Labels": {
                "org.opencontainers.image.title": "agent-sandbox-controller",
                "org.opencontainers.image.description": "The operator of Agent Sandbox",
                "org.opencontainers.image.licenses": "Apache-2.0",
                "org.opencontainers.image.version": facts.version,
                "org.opencontainers.image.revision": facts.revision,
                "org.opencontainers.image.created": facts.created,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [layer]},
        "history": [{"created": facts.created, "created_by": "cargo xtask image"}],
    })
}

fn manifest(config: &Blob, layer: &Blob) -> Value {
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config.descriptor("application/vnd.oci.image.config.v1+json"),
        "layers": [layer.descriptor("application/vnd.oci.image.layer.v1.tar+gzip")],
    })
}

/// containerd names what it imports by the annotation, in full.
fn index(facts: &Facts, manifest: &Blob) -> Value {
    let mut entry = manifest.descriptor("application/vnd.oci.image.manifest.v1+json");
    entry["platform"] = json!({"architecture": architecture(std::env::consts::ARCH), "os": "linux"});
    entry["annotations"] = json!({
        "io.containerd.image.name": format!("docker.io/library/{}", facts.name),
        "org.opencontainers.image.ref.name": facts.version,
    });
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [entry],
    })
}

/// As container images call it.
fn architecture(machine: &str) -> &str {
    match machine {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Owned by root, and as old as can be: neither tells one build from the next.
fn append(builder: &mut Builder<Vec<u8>>, place: &str, mode: u32, content: &[u8]) -> Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(mode);
    header.set_size(content.len() as u64);
    builder.append_data(&mut header, place, content).with_context(|| format!("archive {place}"))
}

fn digest(content: &[u8]) -> String {
    Sha256::digest(content).iter().fold("sha256:".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Read;

    use flate2::read::GzDecoder;
    use tar::Archive;

    use super::*;

    fn facts() -> Facts {
        let text = |text: &str| text.to_owned();
        let (name, created) = (text("agent-sandbox-controller:v1.2.3"), text("2026-01-02T03:04:05Z"));
        Facts { name, version: text("v1.2.3"), revision: text("abc"), created }
    }

    fn made() -> Image {
        let files = [File { place: "asb", mode: 0o755, content: b"program".to_vec() }];
        image(&facts(), &files).unwrap()
    }

    fn unpacked(archive: &[u8]) -> BTreeMap<String, (u32, Vec<u8>)> {
        let mut archive = Archive::new(archive);
        let read = |entry: std::io::Result<tar::Entry<&[u8]>>| {
            let mut entry = entry.unwrap();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            (entry.path().unwrap().display().to_string(), (entry.header().mode().unwrap(), content))
        };
        archive.entries().unwrap().map(read).collect()
    }

    fn parsed(files: &BTreeMap<String, (u32, Vec<u8>)>, place: &str) -> Value {
        serde_json::from_slice(&files[place].1).unwrap()
    }

    fn place(descriptor: &Value) -> String {
        format!("blobs/{}", descriptor["digest"].as_str().unwrap().replace(':', "/"))
    }

    #[test]
    fn the_same_files_give_the_same_bytes() {
        assert_eq!(made().archive().unwrap(), made().archive().unwrap());
    }

    #[test]
    fn every_blob_is_where_its_digest_says() {
        let files = unpacked(&made().archive().unwrap());
        for (place, (_, content)) in files.iter().filter(|(place, _)| place.starts_with("blobs/")) {
            assert_eq!(*place, format!("blobs/{}", digest(content).replace(':', "/")));
        }
    }

    #[test]
    fn from_the_index_one_gets_to_the_program() {
        let files = unpacked(&made().archive().unwrap());
        let manifest = parsed(&files, &place(&parsed(&files, "index.json")["manifests"][0]));
        let config = parsed(&files, &place(&manifest["config"]));
        let mut layer = Vec::new();
        let packed = &files[&place(&manifest["layers"][0])].1;
        GzDecoder::new(&packed[..]).read_to_end(&mut layer).unwrap();
        assert_eq!(config["rootfs"]["diff_ids"][0], digest(&layer));
        assert_eq!(unpacked(&layer)["asb"], (0o755, b"program".to_vec()));
    }

    #[test]
    fn docker_finds_the_same_image() {
        let files = unpacked(&made().archive().unwrap());
        let (list, manifest) =
            (parsed(&files, "manifest.json"), place(&parsed(&files, "index.json")["manifests"][0]));
        let manifest = parsed(&files, &manifest);
        assert_eq!(list[0]["Config"], place(&manifest["config"]));
        assert_eq!(list[0]["Layers"][0], place(&manifest["layers"][0]));
        assert_eq!(list[0]["RepoTags"][0], "agent-sandbox-controller:v1.2.3");
    }

    #[test]
    fn it_says_what_it_is_and_runs_as_nobody_in_particular() {
        let config = configuration(&facts(), "sha256:0");
        assert_eq!(config["config"]["User"], USER);
        assert_eq!(config["config"]["Entrypoint"], json!(["/asb", "operator"]));
        let labels = &config["config"]["Labels"];
        assert_eq!(labels["org.opencontainers.image.revision"], "abc");
        assert_eq!(labels["org.opencontainers.image.version"], "v1.2.3");
    }
}
