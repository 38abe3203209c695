//! The cells of services.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::reading::{integer, items, name, text, text_or};
use super::{age, selector};

pub(super) fn cells(service: &Value, now: Timestamp) -> Value {
    json!([
        name(service),
        text(service, "/spec/type"),
        cluster_ip(service),
        external_ip(service),
        ports(service),
        age::of(service, now),
        selector::labels(service, "/spec/selector"),
    ])
}

fn cluster_ip(service: &Value) -> &str {
    let first = text_or(service, "/spec/clusterIPs/0", text(service, "/spec/clusterIP"));
    if first.is_empty() { "<none>" } else { first }
}

fn external_ip(service: &Value) -> String {
    let external: Vec<&str> = items(service, "/spec/externalIPs").filter_map(Value::as_str).collect();
    match text(service, "/spec/type") {
        "ClusterIP" | "NodePort" if external.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => external.join(","),
        "LoadBalancer" => {
            let all: Vec<&str> = load_balancers(service).into_iter().chain(external).collect();
            if all.is_empty() { "<pending>".to_owned() } else { all.join(",") }
        }
        "ExternalName" => text(service, "/spec/externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

fn load_balancers(service: &Value) -> BTreeSet<&str> {
    let ingress = items(service, "/status/loadBalancer/ingress");
    let names = ingress.map(|ingress| text_or(ingress, "/ip", text(ingress, "/hostname")));
    names.filter(|name| !name.is_empty()).collect()
}

fn ports(service: &Value) -> String {
    let ports: Vec<String> = items(service, "/spec/ports").map(port).collect();
    if ports.is_empty() { "<none>".to_owned() } else { ports.join(",") }
}

fn port(port: &Value) -> String {
    let (number, protocol) = (integer(port, "/port"), text(port, "/protocol"));
    match integer(port, "/nodePort") {
        node_port if node_port > 0 => format!("{number}:{node_port}/{protocol}"),
        _ => format!("{number}/{protocol}"),
    }
}
