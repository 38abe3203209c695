//! TaintNodesByCondition: nothing is scheduled on a new node before it says that it is ready.

use serde_json::{Value, json};

use crate::pointer;

const NOT_READY: &str = "node.kubernetes.io/not-ready";

pub(super) fn taint(node: &mut Value) {
    let mut taints = pointer::list(node, "/spec/taints").iter();
    if !taints.any(|taint| taint["key"] == NOT_READY && taint["effect"] == "NoSchedule") {
        pointer::push(node, "/spec/taints", json!({"key": NOT_READY, "effect": "NoSchedule"}));
    }
}
