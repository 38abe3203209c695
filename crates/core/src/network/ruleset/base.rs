//! What holds for every Pod: who may speak as whom, what is closed to all, and what leaves the machine in its name.

use crate::network::member::{Protocol, interface};
use crate::network::ranges::Ranges;
use crate::network::rules::{
    Action, Atom, Chain, Content, Field, Hook, Interface, Match, Purpose, Reason, Rule, RuleSet, State,
};

use super::{DNS_PORT, Settings, Snapshot};

/// Which address is behind which link.
pub(super) const SOURCES: &str = "sources";
/// Pairs of a Pod's address with itself.
pub(super) const SELVES: &str = "selves";
/// Where packets from a link go on, by the link.
pub(super) const EGRESS: &str = "egress";
/// The same for packets to a link.
pub(super) const INGRESS: &str = "ingress";
/// The addresses of Services.
pub(super) const CLUSTER_ADDRESSES: &str = "cluster-addresses";
/// Where packets to a Service go, by its address, protocol and port.
pub(super) const SERVICES: &str = "services";
const OPEN: &str = "open";
/// Where the API server is.
const API: &str = "api";
/// The links of those who may go there.
const CALLERS: &str = "callers";
const BLOCKED: &str = "blocked";
const UPLINKS: &str = "uplinks";

/// Before connections are tracked.
const RAW: i32 = -300;
const DESTINATION: i32 = -100;
/// Egress is a hook of its own before ingress: a packet between two Pods must please both.
const BEFORE_FILTER: i32 = -10;
const FILTER: i32 = 0;
const SOURCE: i32 = 100;

pub(super) fn add(snapshot: Snapshot<'_>, rules: &mut RuleSet) {
    add_sets(snapshot, rules);
    let settings = snapshot.settings;
    rules.chain("origin", Chain::base(Purpose::Filter, Hook::Prerouting, RAW, origin(settings)));
    rules.chain("to-service", translate(Hook::Prerouting, DESTINATION, to_service(settings)));
    rules.chain("host-to-service", translate(Hook::Output, DESTINATION, vec![dispatch(SERVICES)]));
    rules.chain("leave-pod", Chain::base(Purpose::Filter, Hook::Forward, BEFORE_FILTER, leave_pod(settings)));
    rules.chain("enter-pod", Chain::base(Purpose::Filter, Hook::Forward, FILTER, enter_pod(settings)));
    rules.chain("pod-to-host", Chain::base(Purpose::Filter, Hook::Input, BEFORE_FILTER, pod_to_host()));
    rules.chain("host", Chain::base(Purpose::Filter, Hook::Input, FILTER, host(settings)));
    let dead = Rule::new([Match::Among(CLUSTER_ADDRESSES.into())], Action::Reject(Reason::Port));
    rules.chain("host-to-nobody", Chain::base(Purpose::Filter, Hook::Output, FILTER, vec![dead]));
    rules.chain("masquerade", translate(Hook::Postrouting, SOURCE, masquerade(settings)));
}

fn add_sets(snapshot: Snapshot<'_>, rules: &mut RuleSet) {
    let settings = snapshot.settings;
    let sources = snapshot.members.iter().map(|member| {
        let link = Atom::Interface(interface(&settings.prefix, &member.uid));
        (vec![link, Atom::Address(member.address)], member.uid.to_string())
    });
    rules.add_keys(SOURCES, &[Field::InInterface, Field::Source], sources);
    let selves = snapshot.members.iter().map(|member| {
        (vec![Atom::Address(member.address), Atom::Address(member.address)], member.uid.to_string())
    });
    rules.add_keys(SELVES, &[Field::Source, Field::Destination], selves);
    rules.add(BLOCKED, &[Field::Destination], Content::Ranges(Ranges::of(settings.blocked.iter().copied())));
    let uplinks = settings.uplinks.iter().map(|name| (vec![Atom::Interface(name.clone())], String::new()));
    rules.add_keys(UPLINKS, &[Field::InInterface], uplinks);
    let names = [Protocol::Tcp, Protocol::Udp].map(|protocol| (settings.node, protocol, DNS_PORT));
    let open = names.iter().chain(&settings.open).map(|(address, protocol, port)| {
        (vec![Atom::Address(*address), Atom::Protocol(*protocol), Atom::Port(*port)], String::new())
    });
    rules.add_keys(OPEN, &[Field::Destination, Field::Protocol, Field::DestinationPort], open);
    add_api(snapshot, rules);
}

fn add_api(snapshot: Snapshot<'_>, rules: &mut RuleSet) {
    let api = snapshot.settings.api.map(|api| {
        let key = vec![Atom::Address(*api.ip()), Atom::Protocol(Protocol::Tcp), Atom::Port(api.port())];
        (key, String::new())
    });
    rules.add_keys(API, &[Field::Destination, Field::Protocol, Field::DestinationPort], api);
    let callers = snapshot.members.iter().filter(|member| member.has_token).map(|member| {
        let link = Atom::Interface(interface(&snapshot.settings.prefix, &member.uid));
        (vec![link], member.uid.to_string())
    });
    rules.add_keys(CALLERS, &[Field::InInterface], callers);
}

/// A link speaks with its Pod's address or not at all, and nobody else does. IPv6 has no address here.
fn origin(settings: &Settings) -> Vec<Rule> {
    let pods = || Interface::Prefix(settings.prefix.clone());
    vec![
        Rule::new([Match::In(pods()), Match::Among(SOURCES.into())], Action::Accept),
        Rule::new([Match::In(pods())], Action::Drop),
        Rule::new([Match::NotIn(Interface::Named("lo".into())), Match::From(settings.range)], Action::Drop),
    ]
}

fn to_service(settings: &Settings) -> Vec<Rule> {
    let pods = Match::In(Interface::Prefix(settings.prefix.clone()));
    vec![Rule::new([pods], Action::Dispatch(SERVICES.into()))]
}

fn leave_pod(settings: &Settings) -> Vec<Rule> {
    let pods = || Interface::Prefix(settings.prefix.clone());
    let through = [Match::Among(UPLINKS.into()), Match::NotOut(pods())];
    vec![
        Rule::new(through, Action::Drop),
        going_on(),
        Rule::new([Match::In(pods()), Match::States(vec![State::Invalid])], Action::Drop),
        Rule::new([Match::In(pods()), Match::Among(BLOCKED.into())], Action::Reject(Reason::Prohibited)),
        Rule::new([Match::In(pods()), Match::Among(CLUSTER_ADDRESSES.into())], Action::Reject(Reason::Port)),
        Rule::new([Match::Among(SELVES.into())], Action::Accept),
        dispatch(EGRESS),
    ]
}

fn enter_pod(settings: &Settings) -> Vec<Rule> {
    let pods = || Interface::Prefix(settings.prefix.clone());
    vec![
        going_on(),
        Rule::new([Match::Out(pods()), Match::States(vec![State::Invalid])], Action::Drop),
        Rule::new([Match::Among(SELVES.into())], Action::Accept),
        dispatch(INGRESS),
    ]
}

fn pod_to_host() -> Vec<Rule> {
    vec![going_on(), dispatch(EGRESS)]
}

fn host(settings: &Settings) -> Vec<Rule> {
    let pods = || Match::In(Interface::Prefix(settings.prefix.clone()));
    vec![
        going_on(),
        Rule::new([pods(), Match::Among(OPEN.into())], Action::Accept),
        Rule::new([pods(), Match::Among(CALLERS.into()), Match::Among(API.into())], Action::Accept),
        Rule::new([pods()], Action::Reject(Reason::Prohibited)),
    ]
}

/// A Pod that comes to itself through a Service must not see its own address as the sender's.
fn masquerade(settings: &Settings) -> Vec<Rule> {
    let outside = [
        Match::From(settings.range),
        Match::NotTo(settings.range),
        Match::NotOut(Interface::Named("lo".into())),
    ];
    vec![Rule::new([Match::Among(SELVES.into())], Action::Masquerade), Rule::new(outside, Action::Masquerade)]
}

/// Answers, and what belongs to a connection that was allowed when it began.
fn going_on() -> Rule {
    Rule::new([Match::States(vec![State::Established, State::Related])], Action::Accept)
}

fn dispatch(set: &str) -> Rule {
    Rule::new([], Action::Dispatch(set.to_owned()))
}

fn translate(hook: Hook, priority: i32, rules: Vec<Rule>) -> Chain {
    Chain::base(Purpose::Translate, hook, priority, rules)
}
