//! Starts a described cluster's supervisor, detached from this process and its terminal.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use super::census;
use super::description::Description;
use super::node::cable;
use crate::workspace;

/// A process id, mount, network, host name and IPC namespace of its own. When the first process in it ends, the kernel
/// ends all others, containers included, and drops the mounts and links.
const NAMESPACES: [&str; 8] =
    ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "--net", "--uts"];

/// The first process must reap orphans, as a shell does.
const FIRST: [&str; 5] = ["--ipc", "sh", "-c", "\"$@\" & wait $!", "sh"];

/// The supervisor goes on by itself; the handle is for asking whether it does.
pub(crate) fn launch(cluster: &Description) -> Result<Child> {
    fs::create_dir_all(cluster.directory.join("logs")).context("create the logs' directory")?;
    fs::create_dir_all(cluster.directory.join("tmp")).context("create the cluster's /tmp")?;
    let supervisor =
        supervisor(cluster)?.spawn().context("start the supervisor with setsid (package util-linux)")?;
    if cluster.has_node() {
        cable::lay(cluster)?;
    }
    Ok(supervisor)
}

fn supervisor(cluster: &Description) -> Result<Command> {
    let log = File::create(cluster.directory.join("logs/supervisor.log"))?;
    let mut command = Command::new("setsid");
    if let Some(debian) = &cluster.debian {
        command.args(NAMESPACES).args(FIRST);
        command.env("PATH", search_path(cluster, debian)?).env("LD_LIBRARY_PATH", libraries(debian)?);
    }
    command
        .arg(workspace::this_program()?)
        .args(["kube", "supervise"])
        .arg(&cluster.directory)
        .env(census::MARK, &cluster.directory)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .current_dir("/");
    Ok(command)
}

/// containerd finds its shims here, the gVisor shim finds runsc, and kube-proxy finds nft.
fn search_path(cluster: &Description, debian: &Path) -> Result<OsString> {
    let ours: BTreeSet<PathBuf> =
        cluster.programs.values().filter_map(|path| path.parent().map(Path::to_owned)).collect();
    let packaged = [debian.join("usr/sbin"), debian.join("usr/bin")];
    let inherited = env::var_os("PATH").unwrap_or_default();
    Ok(env::join_paths(ours.into_iter().chain(packaged).chain(env::split_paths(&inherited)))?)
}

/// The packages' libraries that this machine lacks; they lie in a folder per architecture.
fn libraries(debian: &Path) -> Result<OsString> {
    let folders = ["lib", "usr/lib"].map(|folder| debian.join(folder));
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let named =
        entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with("-linux-gnu"));
    Ok(env::join_paths(named)?)
}
