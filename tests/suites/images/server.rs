//! A registry of our own: the program of Debian's package, on the loopback, in a directory that goes with it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, thread};

use anyhow::{Context, Result};
use asb_node::images::digest::Digest;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::issuer::Issuer;

/// Who may come in where a password is wanted.
pub(crate) const USER: &str = "alice";
pub(crate) const PASSWORD: &str = "open sesame";
const HASHED: &str = "$2b$05$abcdefghijklmnopqrstuupx2xBUC4954936wVIjyyPHmUBFu0wCW";

pub(crate) struct Server {
    /// Host and port.
    pub(crate) address: String,
    folder: TempDir,
    process: Child,
}

/// How it is to be guarded.
#[derive(Clone, Copy)]
pub(crate) enum Guard<'a> {
    Nobody,
    Password,
    Certificate,
    /// Who shows a token that this issuer signed.
    Token(&'a Issuer),
}

impl Server {
    pub(crate) fn start(guard: Guard<'_>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut settings = settings(folder.path());
        match guard {
            Guard::Nobody => {}
            Guard::Password => {
                let list = folder.path().join("passwords");
                fs::write(&list, format!("{USER}:{HASHED}\n"))?;
                settings["auth"] = json!({"htpasswd": {"realm": "test", "path": list}});
            }
            Guard::Certificate => settings["http"]["tls"] = certificate(folder.path())?,
            Guard::Token(issuer) => settings["auth"] = issuer.settings(folder.path())?,
        }
        let file = folder.path().join("settings.json");
        fs::write(&file, settings.to_string())?;
        let process = Command::new(program())
            .arg("serve")
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("start the registry")?;
        let mut this = Self { address: String::new(), folder, process };
        this.address = listening(&mut this.process)?;
        Ok(this)
    }

    /// The certificate it shows, where it shows one.
    pub(crate) fn authority(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    /// Changes a byte of what it keeps.
    pub(crate) fn damage(&self, digest: &Digest) -> Result<()> {
        let hex = digest.hex();
        let place = format!("storage/docker/registry/v2/blobs/sha256/{}/{hex}/data", &hex[..2]);
        let path = self.folder.path().join(place);
        let mut content = fs::read(&path).context("read the blob")?;
        let middle = content.len() / 2;
        content[middle] ^= 1;
        fs::write(&path, content).context("damage the blob")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; either way nothing of it stays.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn program() -> PathBuf {
    let program = env::var_os("ASB_TEST_REGISTRY");
    program.expect("ASB_TEST_REGISTRY names a docker-registry; `cargo xtask test images` sets it").into()
}

/// JSON is YAML.
fn settings(folder: &Path) -> Value {
    json!({
        "version": "0.1",
        "log": {"level": "info", "formatter": "text"},
        "storage": {"filesystem": {"rootdirectory": folder.join("storage")}},
        "http": {"addr": "127.0.0.1:0", "secret": "none"},
    })
}

fn certificate(folder: &Path) -> Result<Value> {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    let (shown, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    fs::write(&shown, cert.pem())?;
    fs::write(&key, signing_key.serialize_pem())?;
    Ok(json!({"certificate": shown, "key": key}))
}

/// Where it says that it listens. What it says later is read too, so that it can go on saying it.
fn listening(process: &mut Child) -> Result<String> {
    let stderr = process.stderr.take().context("its messages")?;
    let mut lines = BufReader::new(stderr).lines();
    let mut said = Vec::new();
    for line in lines.by_ref() {
        let line = line?;
        if let Some((_, rest)) = line.split_once("listening on ") {
            let address = rest.split(['"', ',', ' ']).next().context("an address")?.to_owned();
            thread::spawn(move || lines.for_each(drop));
            return Ok(address);
        }
        said.push(line);
    }
    anyhow::bail!("the registry does not start:\n{}", said.join("\n"))
}
