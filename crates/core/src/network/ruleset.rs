//! The rules of this machine, from the Pods on it, the policies about them and the Services they use.
//!
//! The order is that of a packet's way. Nothing of the host's own traffic is decided here: only what comes from a Pod's
//! link, goes to one, or pretends to.

mod base;
mod policies;
mod services;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

use super::cidr::Cidr;
use super::member::{Member, NamedPort, Protocol};
use super::policy::Policy;
use super::rules::RuleSet;
use super::selector::Labels;
use super::services::Frontend;
use crate::object::{Key, Uid};

/// What does not depend on Pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How the host's ends of Pods' links begin.
    pub prefix: String,
    /// The addresses of Pods.
    pub range: Cidr,
    /// The host's address among them: gateway and name server.
    pub node: Ipv4Addr,
    /// What Pods may reach on the host, beside the name server.
    pub open: Vec<(Ipv4Addr, Protocol, u16)>,
    /// The API server, which Pods may reach that have a token for it.
    pub api: Option<SocketAddrV4>,
    /// What no Pod may reach, whatever policies say.
    pub blocked: Vec<Cidr>,
    /// Interfaces on which packets are forwarded for the sake of Pods alone.
    pub uplinks: Vec<String>,
}

/// Where clouds keep the credentials of the machine, and what is on the link alone.
pub const METADATA: [&str; 3] = ["169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32"];

/// The sets that know every Pod which is connected, whatever policies say of it.
pub const OF_EVERY_POD: [&str; 2] = [base::SOURCES, base::SELVES];

/// Whom rules name that speak of the name server, which is no Pod.
pub const NAME_SERVER: &str = "asb-dns";

/// The port of the name server.
pub const DNS_PORT: u16 = 53;

impl Settings {
    pub fn new(range: Cidr, node: Ipv4Addr) -> Self {
        let blocked = METADATA.iter().map(|block| block.parse().expect("a constant that a test reads"));
        Self {
            prefix: "asb-p".to_owned(),
            range,
            node,
            open: Vec::new(),
            api: None,
            blocked: blocked.collect(),
            uplinks: Vec::new(),
        }
    }

    /// The name server, as a Pod that policies can name the way they do on other clusters.
    fn name_server(&self) -> Member {
        let port = |name: &str, protocol| NamedPort { name: name.to_owned(), protocol, number: DNS_PORT };
        Member {
            key: Key::new("kube-system", NAME_SERVER),
            uid: NAME_SERVER.into(),
            address: self.node,
            labels: [("k8s-app".to_owned(), "kube-dns".to_owned())].into(),
            ports: vec![port("dns", Protocol::Udp), port("dns-tcp", Protocol::Tcp)],
            has_token: false,
        }
    }
}

/// Everything that the rules follow from.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    pub settings: &'a Settings,
    pub members: &'a [Member],
    /// The labels of namespaces.
    pub namespaces: &'a BTreeMap<String, Labels>,
    pub policies: &'a [Policy],
    pub frontends: &'a [Frontend],
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compiled {
    pub rules: RuleSet,
    /// Pods under a policy that cannot be enforced, and why. They must not start; those that run are cut off.
    pub refused: BTreeMap<Uid, String>,
}

pub fn compile(snapshot: Snapshot<'_>) -> Compiled {
    let mut compiled = Compiled::default();
    base::add(snapshot, &mut compiled.rules);
    services::add(snapshot, &mut compiled.rules);
    policies::add(snapshot, &mut compiled);
    compiled
}

/// A name that the kernel takes: not too long, and different for different parts.
fn name(parts: &[&str]) -> String {
    const LONGEST: usize = 120;
    let whole = parts.join("/");
    if whole.len() <= LONGEST {
        return whole;
    }
    let short: String = whole.chars().take(LONGEST - 9).collect();
    format!("{short}-{}", asb_types::hash::fnv1a_hex(&whole))
}
