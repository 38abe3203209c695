//! What has become of the nodes that Pods do not go away from. Rare, so that nodes are asked for and not watched.

use std::collections::BTreeMap;

use asb_core::sandbox::{Node, Observed};
use serde_json::Value;

use crate::context::Context;

/// The taint by which somebody vouches that nothing runs on a node any more.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// The nodes of Pods whose time to end is over. One that cannot be asked about is left out: nothing is concluded from it.
pub(super) async fn of_stuck_pods(observed: &Observed, context: &Context) -> BTreeMap<String, Node> {
    let now = context.now();
    let overdue =
        observed.pods.iter().filter(|pod| pod.metadata.deletion.is_some_and(|deletion| deletion.due <= now));
    let mut nodes = BTreeMap::new();
    for pod in overdue.filter(|pod| !pod.node.is_empty()) {
        match context.writer.read_node(&pod.node).await {
            Ok(node) => drop(nodes.insert(pod.node.clone(), state(node.as_ref()))),
            Err(error) => {
                tracing::warn!(node = %pod.node, %error, "cannot ask about the node of a Pod that does not end");
            }
        }
    }
    nodes
}

fn state(node: Option<&Value>) -> Node {
    let Some(node) = node else { return Node::Gone };
    let taints = node["spec"]["taints"].as_array();
    let is_out_of_service = taints.into_iter().flatten().any(|taint| taint["key"] == OUT_OF_SERVICE);
    if is_out_of_service { Node::OutOfService } else { Node::There }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_node_that_is_gone_or_vouched_for_is_lost() {
        assert_eq!(state(None), Node::Gone);
        assert_eq!(
            state(Some(&json!({"spec": {"taints": [{"key": "node.kubernetes.io/unreachable"}]}}))),
            Node::There
        );
        assert_eq!(state(Some(&json!({"spec": {"taints": [{"key": OUT_OF_SERVICE}]}}))), Node::OutOfService);
    }
}
