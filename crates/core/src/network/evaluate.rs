//! Runs a packet through rules the way the kernel does, so that tests can ask what rules mean.

use std::net::Ipv4Addr;

use super::fixtures::{Machine, NODE};
use super::member::{Protocol, interface};
use super::rules::{
    Action, Atom, Chain, Content, Field, Hook, Interface, Match, Purpose, Rule, RuleSet, State,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) source: Ipv4Addr,
    pub(super) destination: Ipv4Addr,
    pub(super) protocol: Protocol,
    pub(super) port: u16,
    pub(super) state: State,
    /// What a draw gives.
    pub(super) lot: u32,
}

/// What became of a packet; one that passed may look different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed { source: Ipv4Addr, destination: Ipv4Addr, port: u16 },
    Dropped,
    Rejected,
}

impl Outcome {
    pub(super) fn has_passed(&self) -> bool {
        matches!(self, Self::Passed { .. })
    }
}

/// What a chain says.
enum Verdict {
    Accept,
    Drop,
    Reject,
    Nothing,
}

impl Packet {
    /// The first packet of a TCP connection from this address to that, on the links where they are.
    pub(super) fn new(machine: &Machine, source: Ipv4Addr, destination: Ipv4Addr, port: u16) -> Self {
        Self {
            from: link(machine, source),
            to: link(machine, destination),
            source,
            destination,
            protocol: Protocol::Tcp,
            port,
            state: State::New,
            lot: 0,
        }
    }

    pub(super) fn udp(self) -> Self {
        Self { protocol: Protocol::Udp, ..self }
    }

    pub(super) fn established(self) -> Self {
        Self { state: State::Established, ..self }
    }
}

/// What comes from the host itself comes from nowhere; everybody else is behind `eth0`.
fn link(machine: &Machine, address: Ipv4Addr) -> String {
    match machine.at(address) {
        Some(member) => interface(&machine.settings.prefix, &member.uid),
        None if address == NODE => String::new(),
        None => "eth0".to_owned(),
    }
}

pub(super) fn send(machine: &Machine, rules: &RuleSet, packet: &Packet) -> Outcome {
    let mut packet = packet.clone();
    let is_from_host = packet.from.is_empty();
    let entry = if is_from_host { Hook::Output } else { Hook::Prerouting };
    let out = std::mem::take(&mut packet.to);
    if is_from_host {
        packet.to = out;
    }
    if let Some(end) = hook(rules, entry, &mut packet) {
        return end;
    }
    packet.to = link(machine, packet.destination);
    let local = packet.destination == NODE;
    let middle = if local { Some(Hook::Input) } else { (!is_from_host).then_some(Hook::Forward) };
    let last = (!local).then_some(Hook::Postrouting);
    for step in [middle, last].into_iter().flatten() {
        if let Some(end) = hook(rules, step, &mut packet) {
            return end;
        }
    }
    Outcome::Passed { source: packet.source, destination: packet.destination, port: packet.port }
}

fn hook(rules: &RuleSet, hook: Hook, packet: &mut Packet) -> Option<Outcome> {
    let mut chains: Vec<_> = rules
        .chains
        .values()
        .filter_map(|chain| Some((chain.base.filter(|base| base.hook == hook)?, chain)))
        .collect();
    chains.sort_by_key(|(base, _)| base.priority);
    for (base, chain) in chains {
        if base.purpose == Purpose::Translate && packet.state != State::New {
            continue;
        }
        match run(rules, chain, packet) {
            Verdict::Drop => return Some(Outcome::Dropped),
            Verdict::Reject => return Some(Outcome::Rejected),
            Verdict::Accept | Verdict::Nothing => {}
        }
    }
    None
}

fn run(rules: &RuleSet, chain: &Chain, packet: &mut Packet) -> Verdict {
    for rule in chain.rules.iter().collect::<Vec<_>>() {
        if !rule.matches.iter().all(|one| fits(rules, one, packet)) {
            continue;
        }
        match act(rules, rule, packet) {
            (Verdict::Nothing, false) => {}
            (verdict, _) => return verdict,
        }
    }
    Verdict::Nothing
}

/// The verdict, and whether it ends the chain even if it is none.
fn act(rules: &RuleSet, rule: &Rule, packet: &mut Packet) -> (Verdict, bool) {
    match &rule.action {
        Action::Accept => (Verdict::Accept, true),
        Action::Drop => (Verdict::Drop, true),
        Action::Reject(_) => (Verdict::Reject, true),
        Action::Jump(chain) => (run(rules, &rules.chains[chain], packet), false),
        Action::Goto(chain) => (run(rules, &rules.chains[chain], packet), true),
        Action::Dispatch(set) => dispatch(rules, set, packet),
        Action::Draw(count, set) => {
            let lot = packet.lot;
            packet.lot %= count;
            let verdict = dispatch(rules, set, packet);
            packet.lot = lot;
            verdict
        }
        Action::Remember(_) => (Verdict::Nothing, false),
        Action::Masquerade => {
            packet.source = if packet.to == "eth0" { Ipv4Addr::new(192, 0, 2, 2) } else { NODE };
            (Verdict::Accept, true)
        }
        Action::Redirect(address, port) => {
            (packet.destination, packet.port) = (*address, *port);
            (Verdict::Accept, true)
        }
    }
}

fn dispatch(rules: &RuleSet, set: &str, packet: &mut Packet) -> (Verdict, bool) {
    let (fields, content) = (&rules.sets[set].fields, &rules.sets[set].content);
    let Content::Verdicts(verdicts) = content else { panic!("{set} holds no verdicts") };
    let key: Vec<_> = fields.iter().map(|field| atom(*field, packet)).collect();
    match verdicts.get(&key) {
        Some(target) => (run(rules, &rules.chains[&target.chain], packet), true),
        None => (Verdict::Nothing, false),
    }
}

fn fits(rules: &RuleSet, one: &Match, packet: &Packet) -> bool {
    let is = |interface: &Interface, name: &str| match interface {
        Interface::Named(wanted) => wanted == name,
        Interface::Prefix(prefix) => name.starts_with(prefix),
    };
    match one {
        Match::In(interface) => is(interface, &packet.from),
        Match::NotIn(interface) => !is(interface, &packet.from),
        Match::Out(interface) => is(interface, &packet.to),
        Match::NotOut(interface) => !is(interface, &packet.to),
        Match::From(block) => block.contains(packet.source),
        Match::To(block) => block.contains(packet.destination),
        Match::NotTo(block) => !block.contains(packet.destination),
        Match::Protocol(protocol) => packet.protocol == *protocol,
        Match::Ports(first, last) => (*first..=*last).contains(&packet.port),
        Match::States(states) => states.contains(&packet.state),
        Match::Among(set) => is_among(rules, set, packet),
    }
}

fn is_among(rules: &RuleSet, set: &str, packet: &Packet) -> bool {
    let set = &rules.sets[set];
    let key: Vec<_> = set.fields.iter().map(|field| atom(*field, packet)).collect();
    match (&set.content, &key[..]) {
        (Content::Keys(keys), _) => keys.contains_key(&key),
        (Content::Ranges(ranges), [Atom::Address(address)]) => ranges.contains(*address),
        (Content::Recent(_), _) => false,
        other => panic!("{other:?} cannot be asked"),
    }
}

fn atom(field: Field, packet: &Packet) -> Atom {
    match field {
        Field::InInterface => Atom::Interface(packet.from.clone()),
        Field::OutInterface => Atom::Interface(packet.to.clone()),
        Field::Source => Atom::Address(packet.source),
        Field::Destination => Atom::Address(packet.destination),
        Field::Protocol => Atom::Protocol(packet.protocol),
        Field::DestinationPort => Atom::Port(packet.port),
        Field::Lot => Atom::Lot(packet.lot),
    }
}
