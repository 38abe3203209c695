//! A node that runs Pods: its namespaces' furniture, its programs and their settings.
//! The supervisor is already inside the namespaces when it comes here; `launch` made them.

pub(crate) mod addons;
pub(crate) mod cable;
pub(crate) mod cgroups;
mod containerd;
pub(crate) mod images;
mod kubelet;
mod mounts;
mod proxy;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::component::Component;
use super::description::Description;

pub(crate) const PROGRAMS: [&str; 8] = [
    "containerd",
    "containerd-shim-runc-v2",
    "containerd-shim-runsc-v1",
    "coredns",
    "ctr",
    "kube-proxy",
    "kubelet",
    "runsc",
];

/// Turns bare namespaces into a machine: addresses, mounts, cgroups, and the settings of the programs to come.
pub(crate) fn furnish(cluster: &Description) -> Result<()> {
    cable::plug_in(cluster)?;
    mounts::arrange(cluster)?;
    fs::write("/proc/sys/kernel/hostname", &cluster.name).context("name the node")?;
    containerd::configure(cluster)?;
    kubelet::configure(cluster)?;
    proxy::configure(cluster)
}

pub(crate) fn runtime(cluster: &Description) -> Result<Component> {
    containerd::component(cluster)
}

/// What needs a ready API server and a container runtime.
pub(crate) fn agents(cluster: &Description) -> Result<[Component; 2]> {
    Ok([kubelet::component(cluster)?, proxy::component(cluster)?])
}

fn configuration(cluster: &Description, name: &str, content: &str) -> Result<()> {
    let path = cluster.directory.join(name);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    }
    fs::write(&path, content).with_context(|| format!("write {}", path.display()))
}

/// Runs one of the small tools that set up namespaces, mounts and links.
fn tool(program: &str, arguments: &[&str]) -> Result<()> {
    let output = Command::new(program).args(arguments).output().with_context(|| format!("run {program}"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {}: {}", arguments.join(" "), complaint.trim());
    Ok(())
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
