//! What rules mean for packets, one story at a time.

use serde_json::{Value, json};

use super::*;
use crate::network::evaluate::{Outcome, Packet, send};
use crate::network::fixtures::{Machine, NODE, address, labels, member};
use crate::network::rules::change::{self, Change};

const OUTSIDE: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);
const VIRTUAL: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 7);

fn two() -> Machine {
    Machine::new([
        member("default", "a", 2, &[("app", "a")]),
        member("default", "b", 3, &[("app", "b")]).with_port("http", Protocol::Tcp, 8080),
    ])
}

fn outcome(machine: &Machine, source: Ipv4Addr, destination: Ipv4Addr, port: u16) -> Outcome {
    send(machine, &machine.compile().rules, &Packet::new(machine, source, destination, port))
}

fn passes(machine: &Machine, source: Ipv4Addr, destination: Ipv4Addr, port: u16) -> bool {
    outcome(machine, source, destination, port).has_passed()
}

fn with_service(mut machine: Machine, backends: &[(u8, u16)]) -> Machine {
    machine.frontends.push(Frontend {
        service: Key::new("default", "web"),
        address: VIRTUAL,
        protocol: Protocol::Tcp,
        port: 80,
        backends: backends.iter().map(|(last, port)| SocketAddrV4::new(address(*last), *port)).collect(),
        affinity: None,
    });
    machine
}

fn ingress(rules: Value) -> Value {
    json!({"podSelector": {"matchLabels": {"app": "b"}}, "policyTypes": ["Ingress"], "ingress": rules})
}

fn egress(rules: Value) -> Value {
    json!({"podSelector": {"matchLabels": {"app": "a"}}, "policyTypes": ["Egress"], "egress": rules})
}

#[test]
fn without_policies_pods_reach_each_other_and_the_world_in_the_hosts_name() {
    let machine = two();
    assert!(passes(&machine, address(2), address(3), 80));
    let passed = outcome(&machine, address(2), OUTSIDE, 443);
    let host = Ipv4Addr::new(192, 0, 2, 2);
    assert_eq!(passed, Outcome::Passed { source: host, destination: OUTSIDE, port: 443 });
}

#[test]
fn nobody_speaks_with_anothers_address() {
    let machine = two();
    let rules = machine.compile().rules;
    let mut packet = Packet::new(&machine, address(2), OUTSIDE, 80);
    packet.source = address(3);
    assert_eq!(send(&machine, &rules, &packet), Outcome::Dropped);
    packet.source = Ipv4Addr::new(192, 0, 2, 2);
    assert_eq!(send(&machine, &rules, &packet), Outcome::Dropped);
    let from_outside = Packet { from: "eth0".into(), ..Packet::new(&machine, address(2), address(3), 80) };
    assert_eq!(send(&machine, &rules, &from_outside), Outcome::Dropped);
}

#[test]
fn a_link_that_no_rule_knows_carries_nothing() {
    let machine = two();
    let packet = Packet { from: "asb-p0000000000".into(), ..Packet::new(&machine, address(9), OUTSIDE, 80) };
    assert_eq!(send(&machine, &machine.compile().rules, &packet), Outcome::Dropped);
}

#[test]
fn metadata_and_services_of_the_host_are_closed_and_names_are_open() {
    let mut machine = two();
    assert_eq!(outcome(&machine, address(2), [169, 254, 169, 254].into(), 80), Outcome::Rejected);
    assert_eq!(outcome(&machine, address(2), NODE, 22), Outcome::Rejected);
    assert!(passes(&machine, address(2), NODE, 53));
    machine.settings.open.push((NODE, Protocol::Tcp, 6443));
    assert!(passes(&machine, address(2), NODE, 6443));
    machine.settings.blocked.clear();
    assert!(passes(&machine, address(2), [169, 254, 169, 254].into(), 80));
}

#[test]
fn the_api_server_is_open_to_those_who_have_a_token_unless_a_policy_forbids_it() {
    let mut machine = two();
    machine.settings.api = Some(SocketAddrV4::new(NODE, 6443));
    machine.members[0].has_token = true;
    assert!(passes(&machine, address(2), NODE, 6443) && !passes(&machine, address(3), NODE, 6443));
    assert!(!passes(&machine, address(2), NODE, 6444));
    let machine = machine.with_policy("default", json!({"podSelector": {}, "policyTypes": ["Egress"]}));
    assert!(!passes(&machine, address(2), NODE, 6443));
}

#[test]
fn a_host_that_forwards_for_pods_forwards_for_nobody_else() {
    let mut machine = two();
    let transit = |machine: &Machine| passes(machine, OUTSIDE, Ipv4Addr::new(198, 51, 100, 1), 80);
    assert!(transit(&machine));
    machine.settings.uplinks.push("eth0".into());
    assert!(!transit(&machine));
    assert!(passes(&machine, OUTSIDE, address(2), 80));
}

#[test]
fn a_pod_that_is_selected_gets_what_is_allowed_and_nothing_else() {
    let from_a = json!([{"from": [{"podSelector": {"matchLabels": {"app": "a"}}}], "ports": [{"port": 80}]}]);
    let machine = two().with_policy("default", ingress(from_a));
    assert!(passes(&machine, address(2), address(3), 80));
    assert!(!passes(&machine, address(2), address(3), 81));
    assert!(!passes(&machine, OUTSIDE, address(3), 80));
    assert!(passes(&machine, OUTSIDE, address(2), 80), "who is not selected is open");
    assert!(passes(&machine, NODE, address(3), 81), "the node reaches its Pods");
}

#[test]
fn answers_come_through_and_a_pod_reaches_itself() {
    let machine = two().with_policy("default", ingress(json!([])));
    let rules = machine.compile().rules;
    let answer = Packet::new(&machine, OUTSIDE, address(3), 80).established();
    assert!(send(&machine, &rules, &answer).has_passed());
    let machine = with_service(machine, &[(3, 8080)]);
    let itself = outcome(&machine, address(3), VIRTUAL, 80);
    assert_eq!(itself, Outcome::Passed { source: NODE, destination: address(3), port: 8080 });
}

#[test]
fn both_ends_must_agree() {
    let to_b = json!([{"to": [{"podSelector": {"matchLabels": {"app": "b"}}}]}]);
    let open = two().with_policy("default", egress(to_b));
    assert!(passes(&open, address(2), address(3), 80));
    assert_eq!(outcome(&open, address(2), OUTSIDE, 80), Outcome::Rejected);
    let closed = open.with_policy("default", ingress(json!([])));
    assert_eq!(outcome(&closed, address(2), address(3), 80), Outcome::Dropped);
}

#[test]
fn blocks_have_exceptions_and_ports_have_ends() {
    let block = json!({"cidr": "93.0.0.0/8", "except": ["93.1.0.0/16"]});
    let rules = json!([{"to": [{"ipBlock": block}], "ports": [{"port": 8000, "endPort": 8010}]}]);
    let machine = two().with_policy("default", egress(rules));
    assert!(passes(&machine, address(2), OUTSIDE, 8000) && passes(&machine, address(2), OUTSIDE, 8010));
    assert!(!passes(&machine, address(2), OUTSIDE, 8011));
    assert!(!passes(&machine, address(2), Ipv4Addr::new(93, 1, 2, 3), 8000));
}

#[test]
fn names_of_ports_are_those_of_the_receiver() {
    let rules = json!([{"ports": [{"port": "http"}]}]);
    let machine = two().with_policy("default", ingress(rules.clone()));
    assert!(passes(&machine, address(2), address(3), 8080) && !passes(&machine, address(2), address(3), 80));
    let machine = two().with_policy("default", egress(rules));
    assert!(passes(&machine, address(2), address(3), 8080) && !passes(&machine, address(2), OUTSIDE, 8080));
}

#[test]
fn namespaces_are_selected_by_their_labels_and_by_name() {
    let mut machine = two();
    machine.members.push(member("other", "c", 4, &[]));
    machine.namespaces.insert("other".into(), labels(&[("team", "red")]));
    for selector in [json!({"team": "red"}), json!({"kubernetes.io/metadata.name": "other"})] {
        let rules = json!([{"from": [{"namespaceSelector": {"matchLabels": selector}}]}]);
        let machine = machine.clone().with_policy("default", ingress(rules));
        assert!(passes(&machine, address(4), address(3), 80));
        assert!(!passes(&machine, address(2), address(3), 80));
    }
}

#[test]
fn the_name_server_is_allowed_the_way_it_is_on_other_clusters() {
    let dns = json!([{"to": [{"namespaceSelector": {}, "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}],
        "ports": [{"port": 53, "protocol": "UDP"}]}]);
    let machine = two().with_policy("default", egress(dns));
    let rules = machine.compile().rules;
    let question = Packet::new(&machine, address(2), NODE, 53);
    assert!(send(&machine, &rules, &question.clone().udp()).has_passed());
    assert!(!send(&machine, &rules, &question).has_passed());
    let shut = two().with_policy("default", egress(json!([])));
    assert!(
        !send(&shut, &shut.compile().rules, &Packet::new(&shut, address(2), NODE, 53).udp()).has_passed()
    );
}

#[test]
fn what_cannot_be_enforced_keeps_its_pods_from_starting_and_cuts_off_those_that_run() {
    let machine = two().with_policy("default", ingress(json!([{"ports": [{"protocol": "GRE"}]}])));
    let refused = machine.compile().refused;
    let expected = "the NetworkPolicy default/policy-0 cannot be enforced: unknown protocol \"GRE\"";
    assert_eq!(refused.into_values().collect::<Vec<_>>(), [expected]);
    assert!(!passes(&machine, address(2), address(3), 80) && !passes(&machine, address(3), OUTSIDE, 80));
    assert!(passes(&machine, address(2), OUTSIDE, 80));
}

#[test]
fn a_service_leads_to_each_of_its_backends() {
    let machine = with_service(two(), &[(2, 8080), (3, 9090)]);
    let rules = machine.compile().rules;
    let reached = |lot: u32, source: Ipv4Addr| {
        let packet = Packet { lot, ..Packet::new(&machine, source, VIRTUAL, 80) };
        send(&machine, &rules, &packet)
    };
    let expected = Outcome::Passed { source: address(3), destination: address(2), port: 8080 };
    assert_eq!(reached(0, address(3)), expected);
    let expected = Outcome::Passed { source: NODE, destination: address(3), port: 9090 };
    assert_eq!(reached(1, NODE), expected);
}

#[test]
fn policies_see_the_backend_and_not_the_service() {
    let rules = json!([{"to": [{"podSelector": {"matchLabels": {"app": "b"}}}], "ports": [{"port": 8080}]}]);
    let machine = with_service(two().with_policy("default", egress(rules)), &[(3, 8080)]);
    assert!(passes(&machine, address(2), VIRTUAL, 80));
}

#[test]
fn a_service_without_backends_and_ports_it_does_not_have_refuse() {
    let machine = with_service(two(), &[]);
    assert_eq!(outcome(&machine, address(2), VIRTUAL, 80), Outcome::Rejected);
    assert_eq!(outcome(&machine, NODE, VIRTUAL, 80), Outcome::Rejected);
    let machine = with_service(two(), &[(3, 8080)]);
    assert_eq!(outcome(&machine, address(2), VIRTUAL, 81), Outcome::Rejected);
}

#[test]
fn a_pod_that_comes_is_a_few_elements_and_no_rule() {
    let from_b = json!([{"from": [{"podSelector": {}}]}]);
    let before = two().with_policy("default", ingress(from_b));
    let mut after = before.clone();
    after.members.push(member("default", "c", 4, &[("app", "b")]));
    let (before, after) = (before.compile().rules, after.compile().rules);
    let changes = change::between(&before, &after);
    assert!(changes.iter().all(|change| matches!(change, Change::AddElements(..))), "{changes:?}");
    assert_eq!(changes.len(), 4, "{changes:?}");
    assert!(change::between(&after, &after).is_empty());
}
