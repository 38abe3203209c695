//! PodResizeValidator: a running Pod does not grow beyond its node.

use asb_types::quantity::Quantity;
use serde_json::Value;

use super::{Target, forbidden};
use crate::defaults::pod_requests;
use crate::field::Quoted;
use crate::identity::GroupKind;
use crate::pointer;
use crate::status::{Cause, Status};
use crate::strategy::Cluster;

pub(super) fn check(
    target: Target<'_>,
    new: &Value,
    old: &Value,
    cluster: &dyn Cluster,
) -> Result<(), Status> {
    let name = pointer::text(new, "/spec/nodeName");
    if name.is_empty() || new["spec"] == old["spec"] {
        return Ok(());
    }
    let missing = || forbidden(target, new, &format!("node {} not found", Quoted(name)));
    let node = cluster.get(&GroupKind::new("", "Node"), "", name).ok_or_else(missing)?;
    let system = node["metadata"]["labels"]["kubernetes.io/os"].as_str().unwrap_or("linux");
    if system != "linux" {
        let (name, system) = (Quoted(name), Quoted(system));
        let why = format!("pod resize is only supported on linux nodes, node {name} is {system}");
        return Err(refused(target, new, &why, "UnsupportedPlatform"));
    }
    match excess(new, &node) {
        None => Ok(()),
        Some(excess) => {
            let why = format!("node didn't have enough allocatable resources: {excess}");
            Err(refused(target, new, &why, "NodeCapacity"))
        }
    }
}

fn refused(target: Target<'_>, pod: &Value, why: &str, reason: &str) -> Status {
    let cause = Cause { reason: reason.to_owned(), message: String::new(), field: String::new() };
    forbidden(target, pod, why).with_causes(vec![cause])
}

/// What the Pod wants and the node does not have.
fn excess(pod: &Value, node: &Value) -> Option<String> {
    let requests = pod_requests(pod);
    let over = ["cpu", "memory"].into_iter().filter_map(|name| {
        let count = if name == "cpu" { Quantity::milli } else { Quantity::whole };
        let available = Quantity::read(&node["status"]["allocatable"][name]).unwrap_or_default();
        let wanted = requests.get(name).filter(|wanted| **wanted > available)?;
        Some(format!("{name}, requested: {}, allocatable: {}", count(wanted), count(&available)))
    });
    let over: Vec<String> = over.collect();
    (!over.is_empty()).then(|| over.join("; "))
}
