//! PodTopologyLabels: a Pod knows the zone and region of its node.

use serde_json::Value;

use crate::identity::GroupKind;
use crate::pointer;
use crate::strategy::Cluster;

const LABELS: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/// For a Pod that is made on a node.
pub(super) fn label_pod(pod: &mut Value, cluster: &dyn Cluster) {
    let node = pointer::text(pod, "/spec/nodeName").to_owned();
    label(pod, &node, cluster);
}

/// For a Pod that gets its node later: the binding brings the labels.
pub(super) fn label_binding(binding: &mut Value, cluster: &dyn Cluster) {
    if pointer::text(binding, "/target/kind") == "Node" {
        let node = pointer::text(binding, "/target/name").to_owned();
        label(binding, &node, cluster);
    }
}

fn label(object: &mut Value, node: &str, cluster: &dyn Cluster) {
    if node.is_empty() {
        return;
    }
    let Some(node) = cluster.get(&GroupKind::new("", "Node"), "", node) else { return };
    for label in LABELS {
        if let Some(value) = node["metadata"]["labels"].get(label) {
            let label = pointer::escaped(label);
            pointer::set(object, &format!("/metadata/labels/{label}"), value.clone());
        }
    }
}
