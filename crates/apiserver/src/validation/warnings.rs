//! What Kubernetes warns of in objects of its own kinds that are in order all the same: parts that are deprecated, that do
//! nothing, or that mean something else than they seem to. The words and their order are those of kube-apiserver.

mod address;
mod container;
mod node_label;
mod pod;
mod port;
mod service;
mod volume;

use serde_json::Value;

use super::at::{At, examine};
use crate::identity::GroupKind;

/// What was noticed, as `place: remark`.
#[derive(Default)]
struct Remarks(Vec<String>);

impl Remarks {
    fn add(&mut self, place: &At, remark: impl std::fmt::Display) {
        self.0.push(format!("{}: {remark}", place.place()));
    }

    /// A remark that names no place, or one of its own.
    fn say(&mut self, remark: impl Into<String>) {
        self.0.push(remark.into());
    }
}

/// What the writer of an object should know. Of a Pod that is changed nothing is said: people do not change Pods.
pub fn warnings(
    kind: &GroupKind,
    subresource: Option<&str>,
    new: &Value,
    old: Option<&Value>,
) -> Vec<String> {
    let mut remarks = Remarks::default();
    examine(new, |object| match subresource {
        None => whole(kind, object, old, &mut remarks),
        Some("status") => status(kind, object, &mut remarks),
        Some(_) => {}
    });
    remarks.0
}

fn whole(kind: &GroupKind, object: &At, old: Option<&Value>, remarks: &mut Remarks) {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Endpoints") => endpoints(object, remarks),
        ("", "Node") => node(object, remarks),
        ("", "PersistentVolume") => volume::persistent(object, remarks),
        ("", "PersistentVolumeClaim") => volume::claim(object, remarks),
        ("", "Pod") if old.is_none() => pod::created(object, remarks),
        ("", "Service") => service::whole(object, remarks),
        ("", "ServiceAccount") => account(object, old, remarks),
        ("discovery.k8s.io", "EndpointSlice") => endpoint_slice(object, old.is_none(), remarks),
        ("networking.k8s.io", "NetworkPolicy") => network_policy(object, remarks),
        ("node.k8s.io", "RuntimeClass") => runtime_class(object, remarks),
        ("storage.k8s.io", "StorageClass") => storage_class(object, remarks),
        _ => {}
    }
}

fn status(kind: &GroupKind, object: &At, remarks: &mut Remarks) {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => pod::status(object, remarks),
        ("", "Service") => service::status(object, remarks),
        _ => {}
    }
}

/// Annotations of which each has its remark.
fn annotations(object: &At, deprecated: &[(&str, &str)], remarks: &mut Remarks) {
    let metadata = object.field("metadata");
    let annotations = metadata.field("annotations");
    for (name, remark) in deprecated {
        if let Some(annotation) = annotations.key(name).given() {
            remarks.add(&annotation, remark);
        }
    }
}

fn label<'v>(object: &At<'v, '_>, name: &str) -> &'v str {
    object.value["metadata"]["labels"].get(name).and_then(Value::as_str).unwrap_or_default()
}

fn endpoints(object: &At, remarks: &mut Remarks) {
    if label(object, "endpoints.kubernetes.io/managed-by") == "endpoint-controller" {
        return;
    }
    for subset in object.field("subsets").items() {
        for list in ["addresses", "notReadyAddresses"] {
            subset.field(list).items().for_each(|it| address::address(&it.field("ip"), remarks));
        }
    }
}

fn endpoint_slice(object: &At, is_new: bool, remarks: &mut Remarks) {
    if is_new && object.text_of("addressType") == "FQDN" {
        remarks.say("spec.addressType: FQDN endpoints are deprecated");
    }
    let by = label(object, "endpointslice.kubernetes.io/managed-by");
    if ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"].contains(&by) {
        return;
    }
    for endpoint in object.field("endpoints").items() {
        endpoint.field("addresses").items().for_each(|it| address::address(&it, remarks));
    }
}

fn node(object: &At, remarks: &mut Remarks) {
    let spec = object.field("spec");
    if spec.has("configSource") {
        remarks.say("spec.configSource: the feature is removed");
    }
    if !spec.text_of("externalID").is_empty() {
        remarks.say("spec.externalID: this field is deprecated, and is unused by Kubernetes");
    }
    spec.field("podCIDRs").items().for_each(|it| address::network(&it, remarks));
}

fn account(object: &At, old: Option<&Value>, remarks: &mut Remarks) {
    let name = "kubernetes.io/enforce-mountable-secrets";
    let is_old = old.is_some_and(|old| old["metadata"]["annotations"].get(name).is_some());
    if !is_old {
        let remark = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets";
        annotations(object, &[(name, remark)], remarks);
    }
}

fn network_policy(object: &At, remarks: &mut Remarks) {
    let spec = object.field("spec");
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.field(direction).items() {
            for peer in rule.field(peers).items() {
                let Some(block) = peer.field("ipBlock").given() else { continue };
                address::network(&block.field("cidr"), remarks);
                block.field("except").items().for_each(|it| address::network(&it, remarks));
            }
        }
    }
}

fn runtime_class(object: &At, remarks: &mut Remarks) {
    let scheduling = object.field("scheduling");
    let selector = scheduling.field("nodeSelector");
    for (name, _) in selector.entries() {
        if let Some(remark) = node_label::deprecation(name) {
            remarks.add(&selector, remark);
        }
    }
}

fn storage_class(object: &At, remarks: &mut Remarks) {
    for topology in object.field("allowedTopologies").items() {
        for expression in topology.field("matchLabelExpressions").items() {
            if let Some(remark) = node_label::deprecation(expression.text_of("key")) {
                remarks.add(&expression.field("key"), remark);
            }
        }
    }
}

#[cfg(test)]
mod tests;
