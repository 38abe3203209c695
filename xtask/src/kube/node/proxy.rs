//! kube-proxy: Services by nftables, in the node's network namespace.

use anyhow::Result;
use serde_json::json;

use super::configuration;
use crate::kube::component::Component;
use crate::kube::description::Description;

pub(super) fn component(cluster: &Description) -> Result<Component> {
    Component::new(cluster, "kube-proxy", &[format!("config={}", cluster.file("kube-proxy.json"))])
}

pub(super) fn configure(cluster: &Description) -> Result<()> {
    configuration(cluster, "kube-proxy.json", &settings(cluster))
}

fn settings(cluster: &Description) -> String {
    json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": cluster.file("kube-proxy.kubeconfig")},
        "clusterCIDR": cluster.home.pod_range(),
        "hostnameOverride": cluster.name,
        "oomScoreAdj": 0,
        // Zeros leave the kernel's limits alone: a network namespace may not change them.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    })
    .to_string()
}
