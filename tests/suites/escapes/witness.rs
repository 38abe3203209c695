//! Those who would see an attack succeed, outside of the attacker's Pod: files, processes and sockets of the machine, and
//! what other Pods need.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use asb_tests::pods::stage::Stage;
use asb_tests::wait;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::DeleteParams;
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use crate::ground::Ground;

/// A directory of this machine with a secret in it, which everybody on the machine may read.
pub(crate) struct Canary {
    pub(crate) folder: TempDir,
}

pub(crate) const SECRET: &str = "canary-of-the-machine";

impl Canary {
    pub(crate) fn set() -> Result<Self> {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::Builder::new().prefix("asb-canary-").tempdir()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777))?;
        fs::write(folder.path().join("secret"), SECRET)?;
        Ok(Self { folder })
    }

    /// Its path as text.
    pub(crate) fn place(&self) -> String {
        self.folder.path().display().to_string()
    }

    /// What became of it, if anything did.
    pub(crate) fn harm(&self) -> Result<Option<String>> {
        use std::os::unix::fs::MetadataExt;
        let names = fs::read_dir(self.folder.path())?.map(|entry| Ok(entry?.file_name()));
        let names = names.collect::<Result<Vec<_>>>()?;
        let secret = self.folder.path().join("secret");
        let text = fs::read_to_string(&secret).unwrap_or_default();
        let stat = fs::metadata(&secret).map(|stat| (stat.uid(), stat.gid(), stat.mode() & 0o7777));
        let is_unharmed = names == ["secret"] && text == SECRET && matches!(stat, Ok((0, 0, 0o644)));
        Ok((!is_unharmed).then(|| format!("{names:?} {text:?} {stat:?}")))
    }
}

/// A process of this machine that does nothing.
pub(crate) struct Victim {
    process: Child,
}

impl Victim {
    /// With this among its arguments.
    pub(crate) fn start(argument: &str) -> Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do read line; done", argument]).stdin(Stdio::piped());
        Ok(Self { process: command.kill_on_drop(true).spawn().context("start a victim")? })
    }

    pub(crate) fn pid(&self) -> String {
        self.process.id().unwrap_or_default().to_string()
    }

    pub(crate) fn is_alive(&mut self) -> Result<bool> {
        Ok(self.process.try_wait()?.is_none())
    }
}

/// Listens on this machine and counts who comes.
pub(crate) struct Ear {
    pub(crate) address: SocketAddr,
    heard: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Ear {
    pub(crate) async fn open(address: &str) -> Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let (address, heard) = (listener.local_addr()?, Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&heard);
        let task = tokio::spawn(async move {
            while listener.accept().await.is_ok() {
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        Ok(Self { address, heard, task })
    }

    pub(crate) fn port(&self) -> String {
        self.address.port().to_string()
    }

    pub(crate) fn heard(&self) -> usize {
        self.heard.load(Ordering::Relaxed)
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A claim for a volume that outlives its Pods.
pub(crate) async fn claim(stage: &Stage, name: &str) -> Result<PersistentVolumeClaim> {
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}});
    stage.put(name, json!({"spec": spec})).await
}

/// Deletes a Pod and waits until it is gone.
pub(crate) async fn delete(stage: &Stage, name: &str, grace: u32) -> Result<()> {
    let deleted = stage.pods().delete(name, &DeleteParams::default().grace_period(grace)).await?;
    if let Some(pod) = deleted.left() {
        wait::for_gone(&stage.pods(), &pod).await?;
    }
    Ok(())
}

/// Where something of this name is among the node's files.
pub(crate) async fn inside_of_the_node(name: &str) -> Result<PathBuf> {
    let (root, name) = (Ground::data_directory()?.join("node"), name.to_owned());
    let found = tokio::task::spawn_blocking(move || find(&root, &name)).await?;
    found.context("it is nowhere among the files of the node")
}

/// Links are not followed, and what goes away meanwhile is not there.
pub(crate) fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    let here = entries.iter().find(|entry| entry.file_name() == name);
    here.map(fs::DirEntry::path).or_else(|| {
        let folders = entries.iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.filter(|entry| entry.file_name() != "images").find_map(|entry| find(&entry.path(), name))
    })
}

/// Processes of this machine with this among their arguments, by what the kernel shows of them.
pub(crate) fn processes(argument: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir("/proc")?.flatten().map(|entry| entry.path());
    let has = |path: &PathBuf| fs::read(path.join("cmdline")).is_ok_and(|line| contains(&line, argument));
    Ok(entries.filter(has).collect())
}

fn contains(line: &[u8], word: &str) -> bool {
    line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())
}
