//! What a cluster is, as written in its directory: enough to run it, find it and remove it.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::parts::Programs;

/// Recorded as `cluster.json` before anything starts.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Description {
    pub(crate) name: String,
    /// Everything the cluster keeps on disk is in here.
    pub(crate) directory: PathBuf,
    pub(crate) home: Home,
    /// Whether etcd waits for the disk, as benchmarks need and tests do not.
    pub(crate) durable: bool,
    pub(crate) programs: Programs,
    /// Unpacked Debian packages; only a node needs them.
    pub(crate) debian: Option<PathBuf>,
}

/// Where the cluster's processes live.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Home {
    /// On the host's loopback: a control plane only.
    Loopback { port: u16 },
    /// In namespaces of its own, with a node that runs Pods. The slot picks its addresses.
    Node { slot: u8 },
}

impl Description {
    pub(crate) fn load(directory: &Path) -> Result<Self> {
        let path = directory.join("cluster.json");
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("understand {}", path.display()))
    }

    pub(crate) fn save(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        let path = self.directory.join("cluster.json");
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))
    }

    pub(crate) fn program(&self, name: &str) -> Result<&Path> {
        match self.programs.get(name) {
            Some(path) => Ok(path),
            None => bail!("cluster {} was made without {name}", self.name),
        }
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.directory.join(name).display().to_string()
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.directory.join("admin.kubeconfig")
    }

    /// Not the user's: the next cluster at the same address may serve other kinds.
    pub(crate) fn kubectl_cache(&self) -> PathBuf {
        self.directory.join("kubectl-cache")
    }

    pub(crate) fn has_node(&self) -> bool {
        matches!(self.home, Home::Node { .. })
    }

    /// The long-running programs it is made of.
    pub(crate) fn components(&self) -> impl Iterator<Item = &'static str> {
        let control_plane = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];
        let node: &[&str] = if self.has_node() { &["containerd", "kubelet", "kube-proxy"] } else { &[] };
        control_plane.into_iter().chain(node.iter().copied())
    }

    pub(crate) fn cgroup(&self) -> String {
        cgroup(&self.name)
    }
}

/// The name of a cluster's own group in every cgroup hierarchy, known even when its description is lost.
pub(crate) fn cgroup(name: &str) -> String {
    format!("asb-kube-{name}")
}

impl Home {
    /// The API server's address, and with a node the node's.
    pub(crate) fn address(self) -> Ipv4Addr {
        match self {
            Self::Loopback { .. } => Ipv4Addr::LOCALHOST,
            Self::Node { slot } => Ipv4Addr::new(10, 213, slot, 2),
        }
    }

    pub(crate) fn port(self) -> u16 {
        match self {
            Self::Loopback { port } => port,
            Self::Node { .. } => 6443,
        }
    }

    /// The host's end of the cable to the node.
    pub(crate) fn gateway(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 213, self.slot(), 1)
    }

    /// The `last` address of the range that Services get theirs from.
    pub(crate) fn service(self, last: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 215, self.slot(), last)
    }

    pub(crate) fn service_range(self) -> String {
        format!("{}/24", self.service(0))
    }

    pub(crate) fn pod_range(self) -> String {
        format!("10.214.{}.0/24", self.slot())
    }

    pub(crate) fn link(self) -> String {
        format!("asb-kube-{}", self.slot())
    }

    fn slot(self) -> u8 {
        match self {
            Self::Loopback { .. } => 0,
            Self::Node { slot } => slot,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_its_addresses_by_slot() {
        let home = Home::Node { slot: 7 };
        assert_eq!(home.address().to_string(), "10.213.7.2");
        assert_eq!(home.gateway().to_string(), "10.213.7.1");
        assert_eq!(home.pod_range(), "10.214.7.0/24");
        assert_eq!(home.service_range(), "10.215.7.0/24");
    }

    #[test]
    fn a_description_reads_back_as_written() {
        let written = Description {
            name: "main".into(),
            directory: "/var/tmp/asb-kube-0/main".into(),
            home: Home::Loopback { port: 21_000 },
            durable: false,
            programs: Programs::new(),
            debian: None,
        };
        let text = serde_json::to_string(&written).unwrap();
        assert_eq!(serde_json::from_str::<Description>(&text).unwrap(), written);
    }
}
