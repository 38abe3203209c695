//! The NetworkPolicy of a template. It selects Pods by the hash of the template's name, claimed or not.

use asb_types::hash::fnv1a_hex;
use asb_types::{labels, names};
use serde_json::{Value, json};

use crate::views::{NetworkPolicyView, TemplateView};
use crate::write::{Kind, Target, Write};
use crate::{canonical, patch};

/// Where the router runs, and how its Pods are known.
const ROUTER_NAMESPACE: &str = "agent-sandbox-system";
const ROUTER_APP: &str = "sandbox-router";

/// Addresses that are not public: networks of the cluster and its neighbours, and metadata services of clouds.
const PRIVATE_V4: [&str; 4] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"];
const PRIVATE_V6: [&str; 2] = ["fc00::/7", "fe80::/10"];

pub(super) fn create(template: &TemplateView) -> Write {
    let key = template.metadata.key.sibling(&names::network_policy(template.metadata.name()));
    let object = json!({
        "apiVersion": Kind::NetworkPolicy.api_version(),
        "kind": Kind::NetworkPolicy.name(),
        "metadata": {
            "namespace": *key.namespace,
            "name": *key.name,
            "ownerReferences": [template.metadata.controller_reference(Kind::SandboxTemplate)],
        },
        "spec": spec(template),
    });
    Write::Create { target: Target::new(Kind::NetworkPolicy, key), object }
}

/// The patch that makes the policy say what the template says, unless it does already.
pub(super) fn correct(template: &TemplateView, existing: &NetworkPolicyView) -> Option<Write> {
    let (wanted, stored) = (spec(template), existing.spec.value());
    if comparable(&wanted) == comparable(&stored) {
        return None;
    }
    let change = patch::difference(&stored, &wanted)?;
    Some(Write::patch(Kind::NetworkPolicy, &existing.metadata, json!({"spec": change})))
}

fn spec(template: &TemplateView) -> Value {
    let rules = template.network_policy.value();
    let rules = if rules.is_null() { secure_default() } else { rules };
    let mut spec = json!({
        "podSelector": {"matchLabels": {labels::TEMPLATE_REF_HASH: fnv1a_hex(template.metadata.name())}},
        "policyTypes": ["Ingress", "Egress"],
    });
    for direction in ["ingress", "egress"] {
        if let rules @ Value::Array(_) = &rules[direction] {
            spec[direction] = rules.clone();
        }
    }
    spec
}

/// In from the router, out to public addresses. The cluster's DNS is neither.
fn secure_default() -> Value {
    json!({
        "ingress": [{"from": [{
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ROUTER_NAMESPACE}},
            "podSelector": {"matchLabels": {"app": ROUTER_APP}},
        }]}],
        "egress": [{"to": [
            {"ipBlock": {"cidr": "0.0.0.0/0", "except": PRIVATE_V4}},
            {"ipBlock": {"cidr": "::/0", "except": PRIVATE_V6}},
        ]}],
    })
}

/// The spec with what an API server fills in: a port without a protocol is one of TCP.
fn comparable(spec: &Value) -> Value {
    let mut spec = canonical::form(spec);
    for direction in ["ingress", "egress"] {
        let rules = spec[direction].as_array_mut().into_iter().flatten();
        let ports = rules.filter_map(|rule| rule.get_mut("ports")?.as_array_mut()).flatten();
        for port in ports.filter(|port| port["protocol"].is_null()) {
            port["protocol"] = "TCP".into();
        }
    }
    spec
}
