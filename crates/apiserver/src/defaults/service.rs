//! Defaults of Services. Addresses and node ports are given out by [`crate::strategy`].

use serde_json::{Map, Value, json};

use super::rule::Constant::Text;
use super::rule::{self, Rule, unsaid};

pub(super) const RULES: &[Rule] = &[
    unsaid("spec", "sessionAffinity", Text("None")),
    unsaid("spec", "type", Text("ClusterIP")),
    unsaid("spec.ports[]", "protocol", Text("TCP")),
];

/// How long a client stays with the same Pod: three hours.
const STICKY_SECONDS: i64 = 10_800;

pub(super) fn after(service: &mut Value) {
    rule::each(service, "spec", &mut |spec| {
        default_affinity(spec);
        default_traffic(spec);
    });
    rule::each(service, "spec.ports[]", &mut default_target);
    if service["spec"]["type"] == "LoadBalancer" {
        rule::each(service, "status.loadBalancer.ingress[]", &mut |ingress| {
            let has_address = ingress.get("ip").is_some_and(|ip| !rule::is_zero(ip));
            if has_address && ingress.get("ipMode").is_none_or(Value::is_null) {
                ingress.insert("ipMode".into(), "VIP".into());
            }
        });
    }
}

fn default_affinity(spec: &mut Map<String, Value>) {
    let config = "sessionAffinityConfig";
    match spec.get("sessionAffinity").and_then(Value::as_str) {
        Some("None") => {
            spec.remove(config);
        }
        Some("ClientIP") => {
            let timeout = spec.get(config).and_then(|config| config.pointer("/clientIP/timeoutSeconds"));
            if timeout.is_none_or(Value::is_null) {
                spec.insert(config.into(), json!({"clientIP": {"timeoutSeconds": STICKY_SECONDS}}));
            }
        }
        _ => {}
    }
}

fn default_traffic(spec: &mut Map<String, Value>) {
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let unsaid = |field: &str| spec.get(field).is_none_or(rule::is_zero);
    let (outside, inside) = (unsaid("externalTrafficPolicy"), unsaid("internalTrafficPolicy"));
    let allocates = unsaid("allocateLoadBalancerNodePorts");
    if outside && is_externally_accessible(spec) {
        spec.insert("externalTrafficPolicy".into(), "Cluster".into());
    }
    if inside && matches!(kind.as_str(), "ClusterIP" | "NodePort" | "LoadBalancer") {
        spec.insert("internalTrafficPolicy".into(), "Cluster".into());
    }
    if allocates && kind == "LoadBalancer" {
        spec.insert("allocateLoadBalancerNodePorts".into(), true.into());
    }
}

/// Whether traffic comes from outside of the cluster.
pub(crate) fn is_externally_accessible(spec: &Map<String, Value>) -> bool {
    let external = spec.get("externalIPs").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    match spec.get("type").and_then(Value::as_str) {
        Some("LoadBalancer" | "NodePort") => true,
        Some("ClusterIP") => external,
        _ => false,
    }
}

fn default_target(port: &mut Map<String, Value>) {
    let unsaid = port.get("targetPort").is_none_or(rule::is_zero);
    if let (true, Some(number)) = (unsaid, port.get("port").filter(|number| number.is_number())) {
        let number = number.clone();
        port.insert("targetPort".into(), number);
    }
}
