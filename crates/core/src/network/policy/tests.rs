//! Policies as users write them.

use serde_json::{Value, json};

use super::*;

fn read(spec: Value) -> Policy {
    let policy = json!({"metadata": {"namespace": "default", "name": "p"}, "spec": spec});
    Policy::read(&serde_json::from_value(policy).unwrap())
}

fn refusal(spec: Value) -> String {
    read(spec).rules.unwrap_err().to_string()
}

fn ingress_port(port: Value) -> String {
    refusal(json!({"podSelector": {}, "ingress": [{"ports": [port]}]}))
}

#[test]
fn a_policy_without_types_isolates_ingress_and_egress_only_if_it_has_rules_for_it() {
    let rules = read(json!({"podSelector": {}})).rules.unwrap();
    assert_eq!(rules, Directions { ingress: Some(vec![]), egress: None });
    let rules = read(json!({"podSelector": {}, "egress": [{}]})).rules.unwrap();
    assert!(rules.ingress == Some(vec![]) && rules.egress.is_some_and(|rules| rules.len() == 1));
    let rules = read(json!({"podSelector": {}, "egress": []})).rules.unwrap();
    assert_eq!(rules.egress, None);
}

#[test]
fn types_say_which_directions_are_isolated() {
    let rules = read(json!({"podSelector": {}, "policyTypes": ["Egress"]})).rules.unwrap();
    assert_eq!(rules, Directions { ingress: None, egress: Some(vec![]) });
}

#[test]
fn exceptions_are_cut_out_of_a_block() {
    let block = json!({"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]});
    let rules = read(json!({"podSelector": {}, "ingress": [{"from": [{"ipBlock": block}]}]})).rules.unwrap();
    let Some(Peer::Addresses(ranges)) = rules.ingress.unwrap()[0].peers.as_ref().unwrap().first().cloned()
    else {
        panic!("no addresses")
    };
    assert!(ranges.contains([10, 0, 255, 255].into()) && !ranges.contains([10, 1, 0, 0].into()));
}

#[test]
fn blocks_of_the_other_family_hold_nobody() {
    let spec = json!({"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": "::/0"}}]}]});
    let rules = read(spec).rules.unwrap().ingress.unwrap();
    assert_eq!(rules[0].peers, Some(vec![Peer::Addresses(Ranges::default())]));
}

#[test]
fn what_cannot_be_enforced_says_why() {
    assert_eq!(ingress_port(json!({"protocol": "ICMP"})), "unknown protocol \"ICMP\"");
    assert_eq!(ingress_port(json!({"port": 0})), "port 0 does not exist");
    assert_eq!(ingress_port(json!({"port": 80, "endPort": 79})), "a port range from 80 to 79");
    assert_eq!(ingress_port(json!({"port": "http", "endPort": 90})), "a port range from http to 90");
    let block = |text: &str| {
        refusal(json!({"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": text}}]}]}))
    };
    assert_eq!(block("10.0.0.0/40"), "\"10.0.0.0/40\" is not a block of IPv4 addresses such as 10.0.0.0/8");
    let peer = |peer: Value| refusal(json!({"podSelector": {}, "egress": [{"to": [peer]}]}));
    assert_eq!(peer(json!({})), "a peer that selects neither Pods nor addresses");
    assert_eq!(
        peer(json!({"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}})),
        "a peer that selects both Pods and addresses"
    );
    assert_eq!(
        refusal(json!({"podSelector": {}, "policyTypes": ["Sideways"]})),
        "unknown policy type \"Sideways\""
    );
}

#[test]
fn a_policy_for_nobody_knows_whom_concerns_everybody() {
    let selector = json!({"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]});
    let policy = read(json!({"podSelector": selector}));
    assert!(policy.pods.matches(&std::collections::BTreeMap::new()) && policy.rules.is_err());
}
