//! The names and addresses by which clients reach the server, which its certificate must have.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::names::dns_subdomain;

/// By which Pods know the API of a cluster, and everybody their own machine.
const ALWAYS: [&str; 5] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerNames {
    pub(super) names: BTreeSet<String>,
    pub(super) addresses: BTreeSet<IpAddr>,
}

impl ServerNames {
    /// Those that every server has, and the addresses on which this one listens and is a Service. An address that stands
    /// for all of a machine's names none of them and is left out.
    pub fn new(addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        let local = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
        let addresses = addresses.into_iter().filter(|address| !address.is_unspecified()).chain(local);
        Self { names: ALWAYS.map(str::to_owned).into(), addresses: addresses.collect() }
    }

    /// Also another name, unless no certificate can have it.
    #[must_use]
    pub fn with_name(mut self, name: &str) -> Self {
        let name = name.trim().to_ascii_lowercase();
        if dns_subdomain(&name).is_empty() {
            self.names.insert(name);
        }
        self
    }
}

/// What this machine calls itself, if it says so.
pub fn host_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}
