//! What NetworkPolicies let pass. A policy is a chain for each direction, whoever it concerns; Pods under the same
//! policies share the chain that asks them one after another.

use std::collections::{BTreeMap, BTreeSet};

use asb_types::hash::fnv1a_hex;

use crate::network::member::{Member, Protocol, interface};
use crate::network::policy::{Peer, Policy, PolicyPort, PolicyRule};
use crate::network::ranges::Ranges;
use crate::network::rules::{Action, Atom, Chain, Content, Field, Match, Reason, Rule, RuleSet, Target};
use crate::network::selector::Labels;

use super::base::{EGRESS, INGRESS};
use super::{Compiled, Snapshot, name};

/// Nothing passes.
const CUT_OFF: &str = "cut-off";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Ingress,
    Egress,
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Self::Ingress => "in",
            Self::Egress => "out",
        }
    }

    /// Where the peer is in a packet.
    fn peer(self) -> Field {
        match self {
            Self::Ingress => Field::Source,
            Self::Egress => Field::Destination,
        }
    }

    fn link(self) -> Field {
        match self {
            Self::Ingress => Field::OutInterface,
            Self::Egress => Field::InInterface,
        }
    }

    /// A Pod is told why its packet got nowhere; strangers are told nothing.
    fn denial(self) -> Action {
        match self {
            Self::Ingress => Action::Drop,
            Self::Egress => Action::Reject(Reason::Prohibited),
        }
    }

    fn rules(self, policy: &Policy) -> Option<&[PolicyRule]> {
        let directions = policy.rules.as_ref().ok()?;
        match self {
            Self::Ingress => directions.ingress.as_deref(),
            Self::Egress => directions.egress.as_deref(),
        }
    }
}

pub(super) fn add(snapshot: Snapshot<'_>, compiled: &mut Compiled) {
    refuse(snapshot, compiled);
    compiled.rules.chain(CUT_OFF, Chain::of(vec![Rule::new([], Action::Drop)]));
    let server = snapshot.settings.name_server();
    let peers: Vec<_> = snapshot.members.iter().chain([&server]).collect();
    for (direction, set) in [(Direction::Ingress, INGRESS), (Direction::Egress, EGRESS)] {
        let targets = snapshot.members.iter().filter_map(|member| {
            let chain = chain_for(snapshot, direction, member, compiled)?;
            let link = Atom::Interface(interface(&snapshot.settings.prefix, &member.uid));
            Some((vec![link], Target { chain, remark: member.uid.to_string() }))
        });
        let targets: Vec<_> = targets.collect();
        compiled.rules.add_verdicts(set, &[direction.link()], targets);
        for policy in snapshot.policies {
            if let Some(rules) = direction.rules(policy) {
                Compiler { snapshot, policy, direction, peers: &peers }.add(rules, &mut compiled.rules);
            }
        }
    }
}

fn refuse(snapshot: Snapshot<'_>, compiled: &mut Compiled) {
    let broken = snapshot.policies.iter().filter_map(|policy| Some((policy, policy.rules.as_ref().err()?)));
    for (policy, reason) in broken {
        let told = format!("the NetworkPolicy {} cannot be enforced: {reason}", policy.key);
        for member in snapshot.members.iter().filter(|member| concerns(policy, member)) {
            compiled.refused.entry(member.uid.clone()).or_insert_with(|| told.clone());
        }
    }
}

/// The chain of those under the same policies as this Pod; nothing if none of them is about the direction.
fn chain_for(
    snapshot: Snapshot<'_>,
    direction: Direction,
    member: &Member,
    compiled: &mut Compiled,
) -> Option<String> {
    if compiled.refused.contains_key(&member.uid) {
        return Some(CUT_OFF.to_owned());
    }
    let policies = snapshot.policies.iter().filter(|policy| concerns(policy, member));
    let names: BTreeSet<_> = policies
        .filter(|policy| direction.rules(policy).is_some())
        .map(|policy| policy_chain(policy, direction))
        .collect();
    if names.is_empty() {
        return None;
    }
    let joined = names.iter().map(String::as_str).collect::<Vec<_>>().join(",");
    let chain = name(&[
        "pods",
        direction.name(),
        &format!("{}{}", fnv1a_hex(&joined), fnv1a_hex(&format!("{joined},"))),
    ]);
    let jumps = names.into_iter().map(|policy| Rule::new([], Action::Jump(policy)));
    let rules = jumps.chain([Rule::new([], direction.denial())]).collect();
    compiled.rules.chain(&chain, Chain::of(rules));
    Some(chain)
}

fn concerns(policy: &Policy, member: &Member) -> bool {
    policy.key.namespace == member.key.namespace && policy.pods.matches(&member.labels)
}

fn policy_chain(policy: &Policy, direction: Direction) -> String {
    name(&[direction.name(), &policy.key.namespace, &policy.key.name])
}

/// Turns one direction of one policy into a chain that accepts what it allows, and the sets that this asks.
struct Compiler<'a> {
    snapshot: Snapshot<'a>,
    policy: &'a Policy,
    direction: Direction,
    peers: &'a [&'a Member],
}

impl Compiler<'_> {
    fn add(&self, written: &[PolicyRule], rules: &mut RuleSet) {
        let own = policy_chain(self.policy, self.direction);
        let compiled = written.iter().enumerate().flat_map(|(index, rule)| {
            let prefix = name(&[&own, &index.to_string()]);
            self.rule(&prefix, rule, rules)
        });
        let compiled = compiled.collect();
        rules.chain(&own, Chain::of(compiled));
    }

    fn rule(&self, prefix: &str, rule: &PolicyRule, rules: &mut RuleSet) -> Vec<Rule> {
        let anybody = rule.peers.is_none();
        let mut sides = if anybody { vec![vec![]] } else { self.sides(prefix, rule, rules) };
        let ports = rule.ports.as_deref();
        let mut compiled = Vec::new();
        for side in &mut sides {
            for port in plain_ports(ports) {
                compiled.push(Rule::new(side.iter().cloned().chain(port), Action::Accept));
            }
        }
        if let Some(set) = self.named(prefix, rule, rules) {
            let named = Match::Among(set);
            let sides = if self.direction == Direction::Ingress { sides } else { vec![vec![]] };
            let asked = sides.into_iter().map(|side| side.into_iter().chain([named.clone()]));
            compiled.extend(asked.map(|matches| Rule::new(matches, Action::Accept)));
        }
        compiled
    }

    /// The peers of a rule as sets: one of Pods, which come and go, and one of blocks, which stay as they are.
    fn sides(&self, prefix: &str, rule: &PolicyRule, rules: &mut RuleSet) -> Vec<Vec<Match>> {
        let peers = rule.peers.as_deref().unwrap_or_default();
        let mut sides = Vec::new();
        if peers.iter().any(|peer| matches!(peer, Peer::Pods { .. })) {
            let set = name(&[prefix, "pods"]);
            let pods = self.peers.iter().filter(|member| peers.iter().any(|peer| self.selects(peer, member)));
            let keys = pods.map(|member| (vec![Atom::Address(member.address)], member.uid.to_string()));
            rules.add_keys(&set, &[self.direction.peer()], keys);
            sides.push(vec![Match::Among(set)]);
        }
        let blocks = peers.iter().fold(Ranges::default(), |ranges, peer| match peer {
            Peer::Addresses(more) => ranges.with(more),
            Peer::Pods { .. } => ranges,
        });
        if !blocks.is_empty() {
            let set = name(&[prefix, "blocks"]);
            rules.add(&set, &[self.direction.peer()], Content::Ranges(blocks));
            sides.push(vec![Match::Among(set)]);
        }
        sides
    }

    /// Whether a peer means this Pod by its labels.
    fn selects(&self, peer: &Peer, member: &Member) -> bool {
        match peer {
            Peer::Pods { namespaces: None, pods } => {
                member.key.namespace == self.policy.key.namespace && pods.matches(&member.labels)
            }
            Peer::Pods { namespaces: Some(namespaces), pods } => {
                namespaces.matches(&labels_of(self.snapshot.namespaces, &member.key.namespace))
                    && pods.matches(&member.labels)
            }
            Peer::Addresses(_) => false,
        }
    }

    /// A name means the port that the Pod at the receiving end calls so; what is no Pod calls no port anything.
    fn named(&self, prefix: &str, rule: &PolicyRule, rules: &mut RuleSet) -> Option<String> {
        let names: Vec<_> = rule.ports.iter().flatten().filter_map(named).collect();
        if names.is_empty() {
            return None;
        }
        let receives = |member: &Member| match self.direction {
            Direction::Ingress => concerns(self.policy, member),
            Direction::Egress => rule
                .peers
                .as_ref()
                .is_none_or(|peers| peers.iter().any(|peer| self.selects(peer, member) || has(peer, member))),
        };
        let pods = self.peers.iter().filter(|member| receives(member));
        let keys = pods.flat_map(|member| {
            names.iter().filter_map(|(protocol, name)| {
                let port = Atom::Port(member.port(name, *protocol)?);
                let key = vec![Atom::Address(member.address), Atom::Protocol(*protocol), port];
                Some((key, member.uid.to_string()))
            })
        });
        let set = name(&[prefix, "named"]);
        rules.add_keys(&set, &[Field::Destination, Field::Protocol, Field::DestinationPort], keys);
        Some(set)
    }
}

fn has(peer: &Peer, member: &Member) -> bool {
    matches!(peer, Peer::Addresses(ranges) if ranges.contains(member.address))
}

fn named(port: &PolicyPort) -> Option<(Protocol, &str)> {
    match port {
        PolicyPort::Named(protocol, name) => Some((*protocol, name)),
        PolicyPort::All(_) | PolicyPort::Numbers(..) => None,
    }
}

/// The matches of each port that is known by number; of none at all if any port will do.
fn plain_ports(ports: Option<&[PolicyPort]>) -> Vec<Vec<Match>> {
    let Some(ports) = ports else { return vec![vec![]] };
    let plain = ports.iter().filter_map(|port| match port {
        PolicyPort::All(protocol) => Some(vec![Match::Protocol(*protocol)]),
        PolicyPort::Numbers(protocol, first, last) => {
            Some(vec![Match::Protocol(*protocol), Match::Ports(*first, *last)])
        }
        PolicyPort::Named(..) => None,
    });
    plain.collect()
}

/// Every namespace carries its name as a label, also one that is not in the store.
fn labels_of(namespaces: &BTreeMap<String, Labels>, namespace: &str) -> Labels {
    let mut labels = namespaces.get(namespace).cloned().unwrap_or_default();
    labels.entry("kubernetes.io/metadata.name".to_owned()).or_insert_with(|| namespace.to_owned());
    labels
}
