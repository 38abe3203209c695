//! What to know about a Service.

use super::{Remarks, address};
use crate::validation::at::At;

pub(super) fn whole(service: &At, remarks: &mut Remarks) {
    let annotations = &service.value["metadata"]["annotations"];
    let (old, new) = ("service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode");
    if annotations.get(old).is_some() {
        remarks.say(format!("annotation {old} is deprecated, please use {new} instead"));
    }
    let spec = service.field("spec");
    let address = spec.text_of("clusterIP");
    if !address.is_empty() && address != "None" {
        spec.field("clusterIPs").items().for_each(|it| address::address(&it, remarks));
    }
    let is_headless = spec.text_of("type") == "ClusterIP" && address == "None";
    if is_headless {
        headless(&spec, remarks);
    }
    spec.field("externalIPs").items().for_each(|it| address::address(&it, remarks));
    let (is_name, has_external) =
        (spec.text_of("type") == "ExternalName", !spec.field("externalIPs").is_empty());
    if has_external && !is_headless && !is_name {
        remarks.say("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
    }
    address::address(&spec.field("loadBalancerIP"), remarks);
    spec.field("loadBalancerSourceRanges").items().for_each(|it| address::network(&it, remarks));
    if is_name && has_external {
        remarks.say("spec.externalIPs is ignored when spec.type is \"ExternalName\"");
    }
    if !is_name && !spec.text_of("externalName").is_empty() {
        remarks.say("spec.externalName is ignored when spec.type is not \"ExternalName\"");
    }
    if spec.text_of("trafficDistribution") == "PreferClose" {
        remarks.say("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"");
    }
}

fn headless(spec: &At, remarks: &mut Remarks) {
    if !spec.text_of("loadBalancerIP").is_empty() {
        remarks.say("spec.loadBalancerIP is ignored for headless services");
    }
    if !spec.field("externalIPs").is_empty() {
        remarks.say("spec.externalIPs is ignored for headless services");
    }
    if spec.text_of("sessionAffinity") != "None" {
        remarks.say("spec.SessionAffinity is ignored for headless services");
    }
}

/// Kubernetes names the whole of what stands at an address.
pub(super) fn status(service: &At, remarks: &mut Remarks) {
    let status = service.field("status");
    let balancer = status.field("loadBalancer");
    for ingress in balancer.field("ingress").items() {
        address::address(&ingress.holding(&ingress.value["ip"]), remarks);
    }
}
