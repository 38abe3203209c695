//! Services: what a new one must be, and how one may change.

mod addresses;
mod traffic;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::at::At;
use super::metadata::{self, NameRule};
use super::{declared, labels, pod};
use crate::names;

const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const MODE: &str = "service.kubernetes.io/topology-mode";
const MOST_AFFINITY: i64 = 86400;

pub(super) fn create(service: &At) {
    metadata::new_of_kubernetes(&service.field("metadata"), true, NameRule::Dns1123Label);
    whole(service, &Value::Null);
}

pub(super) fn update(new: &At, old: &Value) {
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
    let spec = new.field("spec");
    addresses::changes(&spec, &old["spec"]);
    traffic::load_balancer_class_stays(&spec, &old["spec"]);
    traffic::load_balancer_class(&spec);
    traffic::health_check_stays(&spec, &old["spec"]);
    whole(new, old);
}

pub(super) fn update_status(new: &At, old: &Value) {
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
    let status = new.field("status");
    let balancer = status.field("loadBalancer");
    traffic::ingress(&balancer.field("ingress"), new, &old["status"]["loadBalancer"]);
}

fn whole(service: &At, old: &Value) {
    let spec = service.field("spec");
    topology(service);
    if spec.field("ports").is_empty()
        && !addresses::is_headless(spec.value)
        && spec.text_of("type") != "ExternalName"
    {
        spec.field("ports").required("");
    }
    by_type(&spec);
    ports(&spec);
    labels::labels(&spec.field("selector"));
    session_affinity(&spec);
    addresses::cluster(&spec, &old["spec"]);
    addresses::external(&spec, &old["spec"]);
    let types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    spec.field("type").must_be_given_and_one_of(&types);
    node_ports(&spec);
    unique_ports(&spec);
    traffic::source_ranges(service, old);
    traffic::allocated_node_ports(service, &spec);
    traffic::load_balancer_class(&spec);
    traffic::policies(&spec);
}

/// Two annotations mean the same.
fn topology(service: &At) {
    let metadata = service.field("metadata");
    let annotations = metadata.field("annotations");
    if annotations.has(HINTS)
        && annotations.has(MODE)
        && annotations.text_of(HINTS) != annotations.text_of(MODE)
    {
        let detail = format!("must match annotations[{HINTS}] when both are specified");
        annotations.key(MODE).invalid(annotations.text_of(MODE), detail);
    }
}

fn by_type(spec: &At) {
    let kind = spec.text_of("type");
    if ["LoadBalancer", "NodePort"].contains(&kind) && addresses::is_headless(spec.value) {
        let addresses = spec.field("clusterIPs");
        addresses.index(0).invalid("None", format!("may not be set to 'None' for {kind} services"));
    }
    if kind == "ExternalName" {
        for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            let field = spec.field(name);
            if !field.is_empty() || name == "ipFamilyPolicy" && field.exists() {
                field.forbidden("may not be set for ExternalName services");
            }
        }
        let name = spec.field("externalName");
        let domain = name.text().strip_suffix('.').unwrap_or(name.text());
        if domain.is_empty() {
            name.required("");
        } else {
            name.must_hold(domain, names::dns_subdomain);
        }
    }
}

fn ports(spec: &At) {
    let ports = spec.field("ports");
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let name = port.field("name");
        if !name.text().is_empty() {
            name.must(names::dns_label);
            if !seen.insert(name.text()) {
                name.duplicate(name.text());
            }
        } else if ports.len() > 1 {
            name.required("");
        }
        port.field("port").must_be_a_port();
        port.field("protocol").must_be_given_and_one_of(&["SCTP", "TCP", "UDP"]);
        pod::port(&port.field("targetPort"));
        if let Some(protocol) = port.field("appProtocol").given() {
            protocol.must(names::qualified_name);
        }
    }
}

fn node_ports(spec: &At) {
    let ports = spec.field("ports");
    if spec.text_of("type") == "ClusterIP" {
        for port in ports.items().filter(|port| port.integer_of("nodePort") != 0) {
            port.field("nodePort").forbidden("may not be used when `type` is 'ClusterIP'");
        }
    }
    let mut seen = BTreeSet::new();
    for port in ports.items().filter(|port| port.integer_of("nodePort") != 0) {
        let number = port.integer_of("nodePort");
        if !seen.insert((port.text_of("protocol"), number)) {
            port.field("nodePort").duplicate(number);
        }
    }
}

fn unique_ports(spec: &At) {
    let mut seen = BTreeSet::new();
    for port in spec.field("ports").items() {
        let key = (port.text_of("protocol"), port.integer_of("port"));
        if !seen.insert(key) {
            let key = json!({"protocol": key.0, "port": key.1});
            port.duplicate_shown(declared::shown("ServicePort", &key), "");
        }
    }
}

fn session_affinity(spec: &At) {
    spec.field("sessionAffinity").must_be_given_and_one_of(&["ClientIP", "None"]);
    let config = spec.field("sessionAffinityConfig");
    match spec.text_of("sessionAffinity") {
        "ClientIP" => affinity_timeout(&config),
        "None" if config.exists() => config.forbidden("must not be set when session affinity is None"),
        _ => {}
    }
}

fn affinity_timeout(config: &At) {
    const REQUIRED: &str = "when session affinity type is ClientIP";
    let client = config.field("clientIP");
    let timeout = client.field("timeoutSeconds");
    if !config.exists() {
        config.required(REQUIRED);
    } else if !client.exists() {
        client.required(REQUIRED);
    } else if !timeout.exists() {
        timeout.required(REQUIRED);
    } else if !(1..=MOST_AFFINITY).contains(&timeout.integer()) {
        let detail = format!("must be greater than 0 and less than {MOST_AFFINITY}");
        timeout.invalid(timeout.integer(), detail);
    }
}
