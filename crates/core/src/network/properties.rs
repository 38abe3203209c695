//! Rules against a reader of policies that knows nothing of rules, and steps between rule sets against their end.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::evaluate::{Packet, send};
use super::fixtures::{Machine, NODE, address, labels, member};
use super::member::{Member, Protocol};
use super::policy::{Peer, Policy, PolicyPort, PolicyRule};
use super::rules::change::{Change, Elements, between, is_reachable};
use super::rules::{Chain, Content, RuleSet, Set};

const VALUES: [&str; 3] = ["x", "y", "z"];
const NAMESPACES: [&str; 2] = ["one", "two"];
const PORTS: [u16; 4] = [53, 80, 81, 443];

fn pods() -> impl Strategy<Value = Vec<Member>> {
    let pod = (0..2usize, 0..3usize, prop::option::of((0..2usize, 0..4usize)));
    prop::collection::vec(pod, 1..6).prop_map(|pods| {
        let each = (2u8..).zip(pods).map(|(last, (namespace, app, port))| {
            let member = member(NAMESPACES[namespace], &format!("pod-{last}"), last, &[("app", VALUES[app])]);
            match port {
                Some((protocol, port)) => {
                    member.with_port("named", [Protocol::Tcp, Protocol::Udp][protocol], PORTS[port])
                }
                None => member,
            }
        });
        each.collect()
    })
}

fn selector() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({})),
        (0..3usize).prop_map(|value| json!({"matchLabels": {"app": VALUES[value]}})),
        (0..3usize).prop_map(|value| {
            json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [VALUES[value]]}]})
        }),
        Just(json!({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]})),
    ]
}

fn namespaces() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({})),
        (0..2usize).prop_map(|which| json!({"matchLabels": {"team": NAMESPACES[which]}}))
    ]
}

fn peer() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => selector().prop_map(|pods| json!({"podSelector": pods})),
        2 => (namespaces(), selector()).prop_map(|(all, pods)| json!({"namespaceSelector": all, "podSelector": pods})),
        1 => namespaces().prop_map(|all| json!({"namespaceSelector": all})),
        2 => (24..=32u8, 0..8u8, 29..=32u8, 0..8u8).prop_map(|(length, base, hole, at)| json!({"ipBlock": {
            "cidr": format!("10.1.0.{base}/{length}"), "except": [format!("10.1.0.{at}/{hole}")],
        }})),
        1 => Just(json!({"ipBlock": {"cidr": "192.0.0.0/4"}})),
    ]
}

fn port() -> impl Strategy<Value = Value> {
    let protocol = prop_oneof![Just("TCP"), Just("UDP")];
    (protocol, 0..4usize, 0..4u8).prop_map(|(protocol, port, form)| match form {
        0 => json!({"protocol": protocol}),
        1 => json!({"protocol": protocol, "port": "named"}),
        2 => json!({"protocol": protocol, "port": 80, "endPort": 90}),
        _ => json!({"protocol": protocol, "port": PORTS[port]}),
    })
}

fn rules(side: &'static str) -> impl Strategy<Value = Value> {
    let rule = (
        prop::option::of(prop::collection::vec(peer(), 0..3)),
        prop::option::of(prop::collection::vec(port(), 0..3)),
    );
    prop::collection::vec(rule, 0..3).prop_map(move |rules| {
        let each = rules.into_iter().map(|(peers, ports)| json!({side: peers, "ports": ports}));
        Value::Array(each.collect())
    })
}

fn machines() -> impl Strategy<Value = Machine> {
    let types =
        prop_oneof![Just(json!(["Ingress"])), Just(json!(["Egress"])), Just(json!(["Ingress", "Egress"]))];
    let policy = (0..2usize, selector(), types, rules("from"), rules("to"));
    (pods(), prop::collection::vec(policy, 0..4)).prop_map(|(members, policies)| {
        let mut machine = Machine::new(members);
        machine.namespaces =
            NAMESPACES.iter().map(|name| ((*name).to_owned(), labels(&[("team", name)]))).collect();
        policies.into_iter().fold(machine, |machine, (namespace, pods, types, ingress, egress)| {
            let spec =
                json!({"podSelector": pods, "policyTypes": types, "ingress": ingress, "egress": egress});
            machine.with_policy(NAMESPACES[namespace], spec)
        })
    })
}

/// What policies say about a connection, read as the specification words it.
struct Reader<'a>(&'a Machine);

impl Reader<'_> {
    fn allows(&self, source: Ipv4Addr, destination: Ipv4Addr, protocol: Protocol, port: u16) -> bool {
        let (from, to) = (self.0.at(source), self.0.at(destination));
        if from.is_some() && source == destination {
            return true;
        }
        let closed = destination == NODE && port != 53;
        let leaves = from.is_none_or(|pod| {
            self.has_leave(
                pod,
                |policy| policy.rules.as_ref().unwrap().egress.as_ref(),
                destination,
                destination,
                protocol,
                port,
            )
        });
        let enters = source == NODE
            || to.is_none_or(|pod| {
                self.has_leave(
                    pod,
                    |policy| policy.rules.as_ref().unwrap().ingress.as_ref(),
                    source,
                    destination,
                    protocol,
                    port,
                )
            });
        leaves && enters && !(closed && from.is_some())
    }

    fn has_leave<'m>(
        &'m self,
        pod: &Member,
        side: impl Fn(&'m Policy) -> Option<&'m Vec<PolicyRule>>,
        peer: Ipv4Addr,
        receiver: Ipv4Addr,
        protocol: Protocol,
        port: u16,
    ) -> bool {
        let concerns =
            |policy: &&Policy| policy.key.namespace == pod.key.namespace && policy.pods.matches(&pod.labels);
        let isolating: Vec<_> = self
            .0
            .policies
            .iter()
            .filter(concerns)
            .filter_map(|policy| Some((policy, side(policy)?)))
            .collect();
        isolating.is_empty()
            || isolating.iter().any(|(policy, rules)| {
                rules.iter().any(|rule| {
                    rule.peers.as_ref().is_none_or(|peers| peers.iter().any(|one| self.is(policy, one, peer)))
                        && rule.ports.as_ref().is_none_or(|ports| {
                            ports.iter().any(|one| self.has_port(one, receiver, protocol, port))
                        })
                })
            })
    }

    fn is(&self, policy: &Policy, peer: &Peer, address: Ipv4Addr) -> bool {
        let pod = self.0.at(address);
        match peer {
            Peer::Addresses(ranges) => ranges.contains(address),
            Peer::Pods { namespaces: None, pods } => {
                pod.is_some_and(|pod| pod.key.namespace == policy.key.namespace && pods.matches(&pod.labels))
            }
            Peer::Pods { namespaces: Some(namespaces), pods } => {
                let server = labels(&[("kubernetes.io/metadata.name", "kube-system")]);
                let is_server = address == NODE
                    && namespaces.matches(&server)
                    && pods.matches(&labels(&[("k8s-app", "kube-dns")]));
                is_server
                    || pod.is_some_and(|pod| {
                        namespaces.matches(&self.0.namespaces[&*pod.key.namespace])
                            && pods.matches(&pod.labels)
                    })
            }
        }
    }

    fn has_port(&self, wanted: &PolicyPort, receiver: Ipv4Addr, protocol: Protocol, port: u16) -> bool {
        match wanted {
            PolicyPort::All(any) => *any == protocol,
            PolicyPort::Numbers(any, first, last) => *any == protocol && (*first..=*last).contains(&port),
            PolicyPort::Named(any, name) => {
                let number = self.0.at(receiver).and_then(|pod| pod.port(name, protocol));
                *any == protocol && number == Some(port)
            }
        }
    }
}

/// A rule set that only takes steps.
fn take(rules: &mut RuleSet, change: &Change<'_>) {
    match change {
        Change::AddChain(name, base) => rules.chain(name, Chain { base: *base, rules: vec![] }),
        Change::AddSet(name, set) => {
            let content = match &set.content {
                Content::Keys(_) => Content::Keys(BTreeMap::new()),
                Content::Verdicts(_) => Content::Verdicts(BTreeMap::new()),
                Content::Ranges(_) => Content::Ranges(super::ranges::Ranges::default()),
                Content::Recent(time) => Content::Recent(*time),
            };
            rules.add(name, &set.fields, content);
        }
        Change::FlushSet(name) => {
            let Content::Ranges(ranges) = &mut rules.sets.get_mut(*name).unwrap().content else {
                panic!("{name}")
            };
            *ranges = super::ranges::Ranges::default();
        }
        Change::RemoveElements(_, name, elements) => change_elements(rules, name, elements, false, None),
        Change::AddElements(set, name, elements) => change_elements(rules, name, elements, true, Some(set)),
        Change::FlushChain(name) => rules.chains.get_mut(*name).unwrap().rules.clear(),
        Change::AddRule(name, rule) => rules.chains.get_mut(*name).unwrap().rules.push((*rule).clone()),
        Change::RemoveSet(name) => drop(rules.sets.remove(*name).unwrap()),
        Change::RemoveChain(name) => {
            assert!(rules.chains.remove(*name).unwrap().rules.is_empty(), "{name} is not empty");
            let is_target = |set: &Set| matches!(&set.content, Content::Verdicts(all) if all.values().any(|to| to.chain == *name));
            assert!(!rules.sets.values().any(is_target), "somebody goes to {name}");
        }
    }
}

fn change_elements(
    rules: &mut RuleSet,
    name: &str,
    elements: &Elements<'_>,
    is_add: bool,
    set: Option<&Set>,
) {
    match (&mut rules.sets.get_mut(name).unwrap().content, elements) {
        (Content::Keys(held), Elements::Keys(keys)) => {
            for (key, remark) in keys {
                let before = if is_add {
                    held.insert((*key).clone(), (*remark).to_owned())
                } else {
                    held.remove(*key)
                };
                assert_ne!(before.is_some(), is_add, "{key:?} of {name}");
            }
        }
        (Content::Verdicts(held), Elements::Verdicts(keys)) => {
            for (key, target) in keys {
                let before =
                    if is_add { held.insert((*key).clone(), (*target).clone()) } else { held.remove(*key) };
                assert_ne!(before.is_some(), is_add, "{key:?} of {name}");
                assert!(
                    !is_add || rules.chains.contains_key(&target.chain),
                    "{} is not there yet",
                    target.chain
                );
            }
        }
        (held @ Content::Ranges(_), Elements::Ranges) => *held = set.unwrap().content.clone(),
        (held, elements) => panic!("{elements:?} in {held:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn rules_allow_what_policies_allow(machine in machines()) {
        let rules = machine.compile().rules;
        let outside = Ipv4Addr::new(192, 0, 2, 77);
        let parties: Vec<_> = (1..8).map(address).chain([outside]).filter(|one| *one == NODE || *one == outside || machine.at(*one).is_some()).collect();
        for source in &parties {
            for destination in parties.iter().filter(|to| *source != **to || machine.at(**to).is_some()) {
                for port in PORTS {
                    for protocol in [Protocol::Tcp, Protocol::Udp] {
                        let packet = Packet { protocol, ..Packet::new(&machine, *source, *destination, port) };
                        let expected = Reader(&machine).allows(*source, *destination, protocol, port);
                        let passed = send(&machine, &rules, &packet).has_passed();
                        prop_assert_eq!(passed, expected, "{:?} -> {:?} {:?} {}", source, destination, protocol, port);
                    }
                }
            }
        }
    }

    #[test]
    fn steps_lead_from_any_rules_to_any_others(one in machines(), other in machines()) {
        let (one, other) = (one.compile().rules, other.compile().rules);
        prop_assume!(is_reachable(&one, &other));
        let mut rules = one.clone();
        for change in &between(&one, &other) {
            take(&mut rules, change);
        }
        prop_assert_eq!(rules, other);
    }
}
