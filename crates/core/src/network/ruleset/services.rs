//! What makes a Service's address lead to one of its backends.

use std::collections::BTreeSet;
use std::net::SocketAddrV4;

use crate::network::rules::{Action, Atom, Chain, Content, Field, Match, Rule, RuleSet, Target};
use crate::network::services::Frontend;

use super::base::{CLUSTER_ADDRESSES, SERVICES};
use super::{Snapshot, name};

pub(super) fn add(snapshot: Snapshot<'_>, rules: &mut RuleSet) {
    let addresses: BTreeSet<_> = snapshot.frontends.iter().map(|frontend| frontend.address).collect();
    let addresses = addresses.into_iter().map(|address| (vec![Atom::Address(address)], String::new()));
    rules.add_keys(CLUSTER_ADDRESSES, &[Field::Destination], addresses);
    let alive: Vec<_> = snapshot.frontends.iter().filter(|frontend| !frontend.backends.is_empty()).collect();
    let verdicts = alive.iter().map(|frontend| {
        let key = vec![
            Atom::Address(frontend.address),
            Atom::Protocol(frontend.protocol),
            Atom::Port(frontend.port),
        ];
        (key, Target { chain: chain_of(frontend), remark: frontend.service.to_string() })
    });
    rules.add_verdicts(SERVICES, &[Field::Destination, Field::Protocol, Field::DestinationPort], verdicts);
    for frontend in alive {
        add_frontend(frontend, rules);
    }
}

fn add_frontend(frontend: &Frontend, rules: &mut RuleSet) {
    let own = chain_of(frontend);
    let chains: Vec<_> = frontend.backends.iter().map(|backend| backend_name(&own, *backend)).collect();
    let known = chains.iter().filter(|_| frontend.affinity.is_some());
    let known = known.map(|chain| Rule::new([Match::Among(chain.clone())], Action::Goto(chain.clone())));
    let lots = u32::try_from(chains.len()).unwrap_or(u32::MAX);
    let draw = Rule::new([], Action::Draw(lots, own.clone()));
    rules.chain(&own, Chain::of(known.chain([draw]).collect()));
    let targets = (0..)
        .zip(&chains)
        .map(|(lot, chain)| (vec![Atom::Lot(lot)], Target { chain: chain.clone(), remark: String::new() }));
    rules.add_verdicts(&own, &[Field::Lot], targets);
    for (chain, backend) in chains.iter().zip(&frontend.backends) {
        add_backend(frontend, chain, *backend, rules);
    }
}

/// With affinity, each backend remembers its clients: they go with it, and nobody else's do.
fn add_backend(frontend: &Frontend, chain: &str, backend: SocketAddrV4, rules: &mut RuleSet) {
    let remember = frontend.affinity.map(|_| Rule::new([], Action::Remember(chain.to_owned())));
    let redirect =
        Rule::new([Match::Protocol(frontend.protocol)], Action::Redirect(*backend.ip(), backend.port()));
    rules.chain(chain, Chain::of(remember.into_iter().chain([redirect]).collect()));
    if let Some(time) = frontend.affinity {
        rules.add(chain, &[Field::Source], Content::Recent(time));
    }
}

/// The address makes it unique: two Services cannot have one.
fn chain_of(frontend: &Frontend) -> String {
    let port = format!("{}-{}", frontend.protocol.name(), frontend.port);
    name(&["service", &frontend.address.to_string(), &port])
}

fn backend_name(service: &str, backend: SocketAddrV4) -> String {
    name(&[service, &format!("{}-{}", backend.ip(), backend.port())])
}
