//! The kubelet's settings: strict about who may talk to it, relaxed about the machine it runs on.

use anyhow::Result;
use serde_json::json;

use super::{configuration, containerd};
use crate::kube::component::Component;
use crate::kube::description::Description;

pub(super) fn component(cluster: &Description) -> Result<Component> {
    let options = [
        format!("config={}", cluster.file("kubelet.json")),
        format!("kubeconfig={}", cluster.file("kubelet.kubeconfig")),
        format!("hostname-override={}", cluster.name),
        format!("node-ip={}", cluster.home.address()),
    ];
    Component::new(cluster, "kubelet", &options)
}

pub(super) fn configure(cluster: &Description) -> Result<()> {
    configuration(cluster, "resolv.conf", "")?;
    configuration(cluster, "kubelet.json", &settings(cluster))
}

fn settings(cluster: &Description) -> String {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": cluster.file("ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": cluster.file("kubelet.crt"),
        "tlsPrivateKeyFile": cluster.file("kubelet.key"),
        "containerRuntimeEndpoint": format!("unix://{}", containerd::socket(cluster)),
        "clusterDNS": [cluster.home.service(10).to_string()],
        "clusterDomain": "cluster.local",
        "resolvConf": cluster.file("resolv.conf"),
        "volumePluginDir": cluster.file("volume-plugins"),
        "cgroupRoot": format!("/{}", cluster.cgroup()),
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": false,
        "failSwapOn": false,
        "enforceNodeAllocatable": [],
        "makeIPTablesUtilChains": false,
        "oomScoreAdj": 0,
        "maxPods": 250,
        // A full disk on the developer's machine is no reason to evict Pods.
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
    })
    .to_string()
}
