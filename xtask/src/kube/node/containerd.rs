//! containerd: the runtimes it offers (runc, and gVisor by RuntimeClass) and how Pods get on the network.

use anyhow::{Context, Result};
use serde_json::json;

use super::{configuration, images};
use crate::kube::component::Component;
use crate::kube::description::Description;

pub(crate) fn socket(cluster: &Description) -> String {
    cluster.file("containerd.sock")
}

pub(super) fn component(cluster: &Description) -> Result<Component> {
    Component::new(cluster, "containerd", &[format!("config={}", cluster.file("containerd.toml"))])
}

pub(super) fn configure(cluster: &Description) -> Result<()> {
    configuration(cluster, "containerd.toml", &settings(cluster)?)?;
    configuration(cluster, "runsc.toml", RUNSC)?;
    configuration(cluster, "cni/10-pods.conflist", &network(cluster))
}

/// The kernel's own system call tracing: needs no hardware virtualisation.
const RUNSC: &str = "[runsc_config]\nplatform = \"systrap\"\n";

fn settings(cluster: &Description) -> Result<String> {
    let debian = cluster.debian.as_ref().context("a node needs the Debian packages")?;
    let runtime = "io.containerd.cri.v1.runtime";
    Ok(format!(
        r#"version = 3
[grpc]
address = "{socket}"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = "{pause}"
[plugins.'{runtime}']
# Lowering a score needs CAP_SYS_RESOURCE, which not every machine for tests has.
restrict_oom_score_adj = true
[plugins.'{runtime}'.cni]
bin_dirs = ["{debian}/usr/lib/cni"]
conf_dir = "{cni}"
[plugins.'{runtime}'.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
options.BinaryName = "{debian}/usr/sbin/runc"
options.SystemdCgroup = false
[plugins.'{runtime}'.containerd.runtimes.runsc]
runtime_type = "io.containerd.runsc.v1"
options.TypeUrl = "io.containerd.runsc.v1.options"
options.ConfigPath = "{runsc}"
"#,
        socket = socket(cluster),
        pause = images::PAUSE,
        debian = debian.display(),
        cni = cluster.file("cni"),
        runsc = cluster.file("runsc.toml"),
    ))
}

/// A link per Pod and no bridge: every packet is routed, so Services work between Pods of one node without the
/// bridge-netfilter module.
fn network(cluster: &Description) -> String {
    json!({
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [{
            "type": "ptp",
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": cluster.home.pod_range()}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }],
    })
    .to_string()
}
