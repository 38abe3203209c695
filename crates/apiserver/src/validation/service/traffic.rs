//! How traffic reaches a service: policies, and load balancers.

use serde_json::Value;

use super::super::address;
use super::super::address::Before;
use super::super::at::At;
use crate::names;

const ONLY_BALANCED: &str = "may only be used when `type` is 'LoadBalancer'";
const RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

fn is_balanced(spec: &Value) -> bool {
    spec["type"] == "LoadBalancer"
}

fn needs_health_check(spec: &Value) -> bool {
    is_balanced(spec) && spec["externalTrafficPolicy"] == "Local"
}

pub(super) fn source_ranges(service: &At, old: &Value) {
    let spec = service.field("spec");
    let ranges = spec.field_shown_as("loadBalancerSourceRanges", "LoadBalancerSourceRanges");
    if !ranges.is_empty() {
        if !is_balanced(spec.value) {
            ranges.forbidden(ONLY_BALANCED);
        }
        let known = old["spec"]["loadBalancerSourceRanges"].as_array().into_iter().flatten();
        let known = known.filter_map(Value::as_str).map(str::trim).collect();
        ranges.items().for_each(|range| range.must_be_network(range.text().trim(), &known));
        return;
    }
    let metadata = service.field("metadata");
    let annotations = metadata.field("annotations");
    let Some(annotation) = annotations.key(RANGES).given() else { return };
    if !is_balanced(spec.value) {
        annotation.forbidden(ONLY_BALANCED);
    }
    if old["metadata"]["annotations"].get(RANGES) != Some(annotation.value)
        && !annotation.text().trim().is_empty()
    {
        annotation
            .text()
            .trim()
            .split(',')
            .for_each(|range| annotation.must_be_network(range.trim(), &Before::new()));
    }
}

pub(super) fn allocated_node_ports(service: &At, spec: &At) {
    let allocate = spec.field("allocateLoadBalancerNodePorts");
    match (allocate.exists(), is_balanced(spec.value)) {
        (true, false) => allocate.forbidden(ONLY_BALANCED),
        (false, true) => service.field("allocateLoadBalancerNodePorts").required(""),
        _ => {}
    }
}

pub(super) fn load_balancer_class(spec: &At) {
    let Some(class) = spec.field("loadBalancerClass").given() else { return };
    if is_balanced(spec.value) {
        class.must(names::qualified_name);
    } else {
        class.forbidden(ONLY_BALANCED);
    }
}

pub(super) fn load_balancer_class_stays(spec: &At, old: &Value) {
    let class = spec.field("loadBalancerClass");
    if is_balanced(spec.value) && is_balanced(old) && class.value != &old["loadBalancerClass"] {
        class.invalid(class.value.clone(), "may not change once set");
    }
}

pub(super) fn health_check_stays(spec: &At, old: &Value) {
    let port = spec.field("healthCheckNodePort");
    let before = old["healthCheckNodePort"].as_i64().unwrap_or_default();
    if needs_health_check(spec.value) && needs_health_check(old) && port.integer() != before {
        port.forbidden("field is immutable");
    }
}

pub(super) fn policies(spec: &At) {
    let kind = spec.text_of("type");
    let reachable = ["LoadBalancer", "NodePort"].contains(&kind)
        || kind == "ClusterIP" && !spec.field("externalIPs").is_empty();
    let external = spec.field("externalTrafficPolicy");
    if reachable {
        external.must_be_given_and_one_of(&["Cluster", "Local"]);
    } else if !external.text().is_empty() {
        external.invalid(external.text(), "may only be set for externally-accessible services");
    }
    health_check(spec);
    let internal = spec.field("internalTrafficPolicy");
    if internal.exists() {
        internal.must_be_one_of(&["Cluster", "Local"]);
    } else if ["NodePort", "LoadBalancer", "ClusterIP"].contains(&kind) {
        internal.required("");
    }
    spec.field("trafficDistribution").may_be_one_of(&["PreferClose", "PreferSameZone", "PreferSameNode"]);
}

fn health_check(spec: &At) {
    let port = spec.field("healthCheckNodePort");
    if !needs_health_check(spec.value) {
        if port.integer() != 0 {
            let detail =
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            port.invalid(port.integer(), detail);
        }
    } else if port.integer() == 0 {
        port.required("");
    } else {
        port.must_be_a_port();
    }
}

/// Where a load balancer takes traffic for the service.
pub(super) fn ingress(list: &At, service: &At, old: &Value) {
    if service.field("spec").text_of("type") != "LoadBalancer" && !list.is_empty() {
        return list.forbidden("may only be used when `spec.type` is 'LoadBalancer'");
    }
    let known = old["ingress"].as_array().into_iter().flatten();
    let known = known.filter_map(|ingress| ingress["ip"].as_str()).collect();
    for ingress in list.items() {
        let (address_of, mode) = (ingress.field("ip"), ingress.field("ipMode"));
        let has_address = !address_of.text().is_empty();
        if has_address {
            address_of.must_be_an_address(&known);
        }
        match (mode.exists(), has_address) {
            (false, true) => mode.required("must be specified when `ip` is set"),
            (true, false) => mode.forbidden("may not be specified when `ip` is not set"),
            (true, true) => mode.must_be_one_of(&["Proxy", "VIP"]),
            (false, false) => {}
        }
        let host = ingress.field("hostname");
        host.may(names::dns_subdomain);
        if address::sloppy_address(host.text()).is_some() {
            host.invalid(host.text(), "must be a DNS name, not an IP address");
        }
    }
}
