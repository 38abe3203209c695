//! What names in the cluster mean, after Kubernetes' specification of DNS-based service discovery.
//!
//! Beyond it, `<pod>.<namespace>.svc.<zone>` means the Pod where no Service has that name, so that agents find each other by
//! the names of their Pods: `ping worker-2`. Nothing here has an IPv6 address.

mod build;
mod private;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::cidr::Cidr;

/// How long an answer may be kept, in seconds: Pods come and go.
pub const TTL: u32 = 5;

/// All names of a moment. Names are in lower case, without the dot at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    zone: String,
    /// Addresses whose names are ours to know.
    blocks: Vec<Cidr>,
    /// A name without records is one on the way to others.
    nodes: BTreeMap<String, Vec<Record>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    Address(Ipv4Addr),
    /// Another name for it, maybe of the world outside.
    Alias(String),
    Service {
        weight: u16,
        port: u16,
        target: String,
    },
    Pointer(String),
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    Address,
    Service,
    Pointer,
    Text,
    Any,
    /// Of a type that nothing here has.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Records(Vec<Record>),
    /// The name exists and has nothing of the kind.
    Nothing,
    NoSuchName,
    /// For others to answer.
    Foreign,
}

pub use build::build;
pub use private::is_private;

impl Names {
    pub fn zone(&self) -> &str {
        &self.zone
    }

    pub fn answer(&self, name: &str, question: Question) -> Answer {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        match self.nodes.get(&name) {
            Some(records) => answer(records, question),
            None if self.is_ours(&name) => Answer::NoSuchName,
            None => Answer::Foreign,
        }
    }

    /// The addresses behind a name, for whoever adds them to an answer that mentions it.
    pub fn addresses(&self, name: &str) -> impl Iterator<Item = Ipv4Addr> {
        self.nodes.get(name).into_iter().flatten().filter_map(|record| match record {
            Record::Address(address) => Some(*address),
            _ => None,
        })
    }

    fn is_ours(&self, name: &str) -> bool {
        let is_in_zone =
            name.strip_suffix(self.zone.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        is_in_zone
            || address_of(name).is_some_and(|address| self.blocks.iter().any(|block| block.contains(address)))
    }
}

fn answer(records: &[Record], question: Question) -> Answer {
    let fits = |record: &&Record| match record {
        Record::Alias(_) => true,
        _ if question == Question::Any => true,
        Record::Address(_) => question == Question::Address,
        Record::Service { .. } => question == Question::Service,
        Record::Pointer(_) => question == Question::Pointer,
        Record::Text(_) => question == Question::Text,
    };
    let records: Vec<_> = records.iter().filter(fits).cloned().collect();
    if records.is_empty() { Answer::Nothing } else { Answer::Records(records) }
}

/// `4.3.2.1.in-addr.arpa` is about 1.2.3.4.
fn address_of(name: &str) -> Option<Ipv4Addr> {
    let parts = name.strip_suffix(".in-addr.arpa")?.split('.').map(|part| part.parse::<u8>().ok());
    let parts: Vec<_> = parts.collect::<Option<_>>()?;
    let [d, c, b, a] = parts[..] else { return None };
    Some(Ipv4Addr::new(a, b, c, d))
}

/// The name under which the name of an address is asked for.
pub fn reverse(address: Ipv4Addr) -> String {
    let [a, b, c, d] = address.octets();
    format!("{d}.{c}.{b}.{a}.in-addr.arpa")
}
