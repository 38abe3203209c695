//! NetworkPolicies with real connections.

use std::io::ErrorKind;

use serde_json::{Value, json};

use super::rig::{GATEWAY, Line, Rig, WORLD, ask, is_closed, is_open, listen};

fn ingress(rules: Value) -> Value {
    json!({"podSelector": {"matchLabels": {"app": "b"}}, "policyTypes": ["Ingress"], "ingress": rules})
}

fn egress(rules: Value) -> Value {
    json!({"podSelector": {"matchLabels": {"app": "a"}}, "policyTypes": ["Egress"], "egress": rules})
}

#[test]
fn ingress_lets_in_who_is_named_on_ports_that_are_named() {
    let mut rig = Rig::new();
    let (a, b, c) = (rig.pod("a", 2), rig.pod("b", 3), rig.pod("c", 4));
    let (_web, _other) = (listen(&b.namespace, 8080, "web"), listen(&b.namespace, 9090, "other"));
    rig.policy(ingress(
        json!([{"from": [{"podSelector": {"matchLabels": {"app": "a"}}}], "ports": [{"port": "web"}]}]),
    ));
    assert!(is_open(&a.namespace, b.address, 8080));
    assert!(is_closed(&a.namespace, b.address, 9090));
    assert!(is_closed(&c.namespace, b.address, 8080));
    assert!(is_open(&rig.host, b.address, 9090), "the node reaches its Pods");
}

#[test]
fn egress_lets_out_to_blocks_without_their_exceptions() {
    let mut rig = Rig::new();
    let (a, b) = (rig.pod("a", 2), rig.pod("b", 3));
    let _b = listen(&b.namespace, 8080, "b");
    let _world = listen(&rig.outside, 8085, "world");
    let block = json!({"cidr": "0.0.0.0/0", "except": ["198.51.100.0/24", "10.0.0.0/8"]});
    rig.policy(egress(json!([{"to": [{"ipBlock": block}], "ports": [{"port": 8080, "endPort": 8090}]}])));
    assert!(is_open(&a.namespace, WORLD, 8085));
    assert_eq!(ask(&a.namespace, GATEWAY, 8085), Err(ErrorKind::HostUnreachable));
    assert_eq!(ask(&a.namespace, b.address, 8080), Err(ErrorKind::HostUnreachable));
    assert!(is_open(&b.namespace, GATEWAY, 8085), "who is not selected is open");
}

#[test]
fn blocks_of_sources_count_for_ingress() {
    let mut rig = Rig::new();
    let (a, b, c) = (rig.pod("a", 2), rig.pod("b", 3), rig.pod("c", 4));
    let _b = listen(&b.namespace, 8080, "b");
    rig.policy(ingress(json!([{"from": [{"ipBlock": {"cidr": "10.1.0.0/29", "except": ["10.1.0.4/32"]}}]}])));
    assert!(is_open(&a.namespace, b.address, 8080));
    assert!(is_closed(&c.namespace, b.address, 8080));
}

#[test]
fn a_pod_under_a_policy_without_rules_is_alone_but_for_its_node() {
    let mut rig = Rig::new();
    let (a, b) = (rig.pod("a", 2), rig.pod("b", 3));
    let (_a, _b) = (listen(&a.namespace, 8080, "a"), listen(&b.namespace, 8080, "b"));
    rig.policy(json!({"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}));
    assert!(is_closed(&a.namespace, b.address, 8080) && is_closed(&b.namespace, a.address, 8080));
    assert!(is_open(&rig.host, a.address, 8080));
}

#[test]
fn a_change_counts_for_new_connections_and_those_that_were_allowed_go_on() {
    let mut rig = Rig::new();
    let (a, b) = (rig.pod("a", 2), rig.pod("b", 3));
    let _b = listen(&b.namespace, 8080, "b");
    let mut line = Line::open(&a.namespace, b.address, 8080);
    rig.policy(ingress(json!([])));
    assert!(is_closed(&a.namespace, b.address, 8080));
    assert!(line.is_alive(), "a connection lives under the policy it was made under");
    rig.policy(ingress(json!([{}])));
    assert!(is_open(&a.namespace, b.address, 8080));
}

#[test]
fn pods_that_come_later_are_meant_too() {
    let mut rig = Rig::new();
    let b = rig.pod("b", 3);
    let _b = listen(&b.namespace, 8080, "b");
    rig.policy(ingress(json!([{"from": [{"podSelector": {"matchLabels": {"app": "a"}}}]}])));
    let (a, c) = (rig.pod("a", 4), rig.pod("c", 5));
    assert!(is_open(&a.namespace, b.address, 8080) && is_closed(&c.namespace, b.address, 8080));
    let other = rig.pod("b", 6);
    let _other = listen(&other.namespace, 8080, "b");
    assert!(is_open(&a.namespace, other.address, 8080) && is_closed(&c.namespace, other.address, 8080));
}
