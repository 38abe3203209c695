//! Makes small container images from files at hand, as archives that `ctr images import` takes.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

/// One layer, built up file by file.
pub(crate) struct Image {
    name: String,
    command: Vec<String>,
    layer: Builder<Vec<u8>>,
}

impl Image {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), command: Vec::new(), layer: Builder::new(Vec::new()) }
    }

    /// A file of the host's, executable in the image at `place` (without a leading slash).
    pub(crate) fn program(mut self, place: &str, source: &Path) -> Result<Self> {
        let content = fs::read(source).with_context(|| format!("read {}", source.display()))?;
        let mut header = header(EntryType::Regular, 0o755);
        header.set_size(content.len() as u64);
        self.layer.append_data(&mut header, place, &content[..])?;
        Ok(self)
    }

    /// Names for the busybox beside them.
    pub(crate) fn links(mut self, places: &[String]) -> Result<Self> {
        for place in places {
            self.layer.append_link(&mut header(EntryType::Symlink, 0o777), place, "busybox")?;
        }
        Ok(self)
    }

    pub(crate) fn command(mut self, command: &[&str]) -> Self {
        self.command = command.iter().map(ToString::to_string).collect();
        self
    }

    /// The files themselves, in a folder.
    pub(crate) fn unpack(self, folder: &Path) -> Result<()> {
        let layer = self.finished()?;
        tar::Archive::new(&layer[..])
            .unpack(folder)
            .with_context(|| format!("unpack into {}", folder.display()))
    }

    fn finished(mut self) -> Result<Vec<u8>> {
        for (place, mode) in [("tmp/", 0o1777), ("etc/", 0o755), ("root/", 0o700)] {
            self.layer.append_data(&mut header(EntryType::Directory, mode), place, std::io::empty())?;
        }
        Ok(self.layer.into_inner()?)
    }

    /// In the layout of `docker save`, which needs no index and no digests but the layer's.
    pub(crate) fn save(self, archive: impl Write) -> Result<()> {
        let (name, command) = (self.name.clone(), self.command.clone());
        let layer = self.finished()?;
        let config = configuration(&command, &layer);
        let manifest = json!([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]);
        let mut builder = Builder::new(archive);
        append(&mut builder, "config.json", config.to_string().as_bytes())?;
        append(&mut builder, "layer.tar", &layer)?;
        append(&mut builder, "manifest.json", manifest.to_string().as_bytes())?;
        builder.into_inner()?.flush().context("finish the archive")
    }
}

fn configuration(command: &[String], layer: &[u8]) -> Value {
    json!({
        "architecture": architecture(),
        "os": "linux",
        "config": {"Cmd": command, "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", hexadecimal(&Sha256::digest(layer)))]},
    })
}

/// As container images call it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn header(kind: EntryType, mode: u32) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(0);
    header
}

fn append(builder: &mut Builder<impl Write>, place: &str, content: &[u8]) -> Result<()> {
    let mut header = header(EntryType::Regular, 0o644);
    header.set_size(content.len() as u64);
    builder.append_data(&mut header, place, content).with_context(|| format!("archive {place}"))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use tar::Archive;

    use super::*;

    fn saved() -> Vec<(String, Vec<u8>)> {
        let mut archive = Vec::new();
        let image = Image::new("asb.test/x:1").program("bin/busybox", Path::new("/proc/self/exe")).unwrap();
        image.links(&["bin/sh".to_owned()]).unwrap().command(&["/bin/sh"]).save(&mut archive).unwrap();
        let mut archive = Archive::new(&archive[..]);
        let read = |entry: std::io::Result<tar::Entry<&[u8]>>| {
            let mut entry = entry.unwrap();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            (entry.path().unwrap().display().to_string(), content)
        };
        archive.entries().unwrap().map(read).collect()
    }

    #[test]
    fn the_manifest_names_the_image_and_its_layer() {
        let files = saved();
        let manifest: Value = serde_json::from_slice(&files[2].1).unwrap();
        assert_eq!(manifest[0]["RepoTags"][0], "asb.test/x:1");
        assert_eq!(manifest[0]["Layers"][0], files[1].0);
    }

    #[test]
    fn the_configuration_holds_the_layers_digest() {
        let files = saved();
        let config: Value = serde_json::from_slice(&files[0].1).unwrap();
        let digest = format!("sha256:{}", hexadecimal(&Sha256::digest(&files[1].1)));
        assert_eq!(config["rootfs"]["diff_ids"][0], digest.as_str());
        assert_eq!(config["config"]["Cmd"][0], "/bin/sh");
    }
}
