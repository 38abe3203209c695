//! A rule as expressions.

use std::collections::BTreeMap;

use asb_core::network::cidr::Cidr;
use asb_core::network::rules::{Action, Content, Field, Interface, Match, Reason, Rule, Set, State};

use super::attributes::Attributes;
use super::expressions::{Expressions, FIRST, Meta, Payload, Verdict};

/// `NFPROTO_IPV4`: what has no IPv4 address has none that a rule could mean.
const IPV4: u8 = 2;

pub(super) fn encode(rule: &Rule, sets: &BTreeMap<&str, &Set>) -> Attributes {
    let mut expressions = Expressions::default();
    if needs_addresses(rule, sets) {
        expressions.meta(Meta::Family, FIRST);
        expressions.compare(FIRST, true, &[IPV4]);
    }
    for one in &rule.matches {
        encode_match(one, sets, &mut expressions);
    }
    encode_action(&rule.action, sets, &mut expressions);
    expressions.into_attributes()
}

fn needs_addresses(rule: &Rule, sets: &BTreeMap<&str, &Set>) -> bool {
    let asks = |set: &String| {
        sets[set.as_str()].fields.iter().any(|field| matches!(field, Field::Source | Field::Destination))
    };
    let in_match = rule.matches.iter().any(|one| match one {
        Match::From(_) | Match::To(_) | Match::NotTo(_) => true,
        Match::Among(set) => asks(set),
        _ => false,
    });
    let in_action = match &rule.action {
        Action::Dispatch(set) | Action::Remember(set) => asks(set),
        Action::Redirect(..) => true,
        _ => false,
    };
    in_match || in_action
}

fn encode_match(one: &Match, sets: &BTreeMap<&str, &Set>, expressions: &mut Expressions) {
    match one {
        Match::In(interface) => named(Meta::InInterface, interface, true, expressions),
        Match::NotIn(interface) => named(Meta::InInterface, interface, false, expressions),
        Match::Out(interface) => named(Meta::OutInterface, interface, true, expressions),
        Match::NotOut(interface) => named(Meta::OutInterface, interface, false, expressions),
        Match::From(block) => within(Payload::Source, *block, true, expressions),
        Match::To(block) => within(Payload::Destination, *block, true, expressions),
        Match::NotTo(block) => within(Payload::Destination, *block, false, expressions),
        Match::Protocol(protocol) => {
            expressions.meta(Meta::Protocol, FIRST);
            expressions.compare(FIRST, true, &[protocol.number()]);
        }
        Match::Ports(first, last) => {
            expressions.payload(Payload::DestinationPort, FIRST);
            if first == last {
                expressions.compare(FIRST, true, &first.to_be_bytes());
            } else {
                expressions.between(FIRST, &first.to_be_bytes(), &last.to_be_bytes());
            }
        }
        Match::States(states) => {
            expressions.connection_state(FIRST);
            let bits = states.iter().fold(0, |bits, state| bits | bit(*state));
            expressions.mask(FIRST, bits.to_ne_bytes());
            expressions.compare(FIRST, false, &[0; 4]);
        }
        Match::Among(set) => {
            load(&sets[set.as_str()].fields, expressions);
            expressions.lookup(set, FIRST, false);
        }
    }
}

fn encode_action(action: &Action, sets: &BTreeMap<&str, &Set>, expressions: &mut Expressions) {
    match action {
        Action::Accept => expressions.verdict(Verdict::Accept),
        Action::Drop => expressions.verdict(Verdict::Drop),
        Action::Reject(Reason::Port) => expressions.reject(1),
        Action::Reject(Reason::Prohibited) => expressions.reject(3),
        Action::Jump(chain) => expressions.verdict(Verdict::Jump(chain)),
        Action::Goto(chain) => expressions.verdict(Verdict::Goto(chain)),
        Action::Dispatch(set) => {
            load(&sets[set.as_str()].fields, expressions);
            expressions.lookup(set, FIRST, true);
        }
        Action::Draw(below, set) => {
            expressions.random(FIRST, *below);
            expressions.lookup(set, FIRST, true);
        }
        Action::Remember(set) => {
            let set_of = sets[set.as_str()];
            load(&set_of.fields, expressions);
            if let Content::Recent(time) = set_of.content {
                expressions.remember(set, FIRST, time);
            }
        }
        Action::Masquerade => expressions.masquerade(),
        Action::Redirect(address, port) => expressions.redirect(*address, *port),
    }
}

/// A name is compared with the zero at its end, a prefix without.
fn named(what: Meta, interface: &Interface, is_equal: bool, expressions: &mut Expressions) {
    expressions.meta(what, FIRST);
    match interface {
        Interface::Named(name) => expressions.compare(FIRST, is_equal, &super::sets::padded(name)),
        Interface::Prefix(prefix) => expressions.compare(FIRST, is_equal, prefix.as_bytes()),
    }
}

fn within(what: Payload, block: Cidr, is_equal: bool, expressions: &mut Expressions) {
    expressions.payload(what, FIRST);
    expressions.mask(FIRST, block.mask().octets());
    expressions.compare(FIRST, is_equal, &block.first().octets());
}

/// Puts the fields one behind the other, as a set's keys are laid out.
fn load(fields: &[Field], expressions: &mut Expressions) {
    let mut register = FIRST;
    for field in fields {
        match field {
            Field::InInterface => expressions.meta(Meta::InInterface, register),
            Field::OutInterface => expressions.meta(Meta::OutInterface, register),
            Field::Source => expressions.payload(Payload::Source, register),
            Field::Destination => expressions.payload(Payload::Destination, register),
            Field::Protocol => expressions.meta(Meta::Protocol, register),
            Field::DestinationPort => expressions.payload(Payload::DestinationPort, register),
            Field::Lot => {}
        }
        register += super::sets::width(*field) / 4;
    }
}

fn bit(state: State) -> u32 {
    match state {
        State::Invalid => 1,
        State::Established => 2,
        State::Related => 4,
        State::New => 8,
    }
}
