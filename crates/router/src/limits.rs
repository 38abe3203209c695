//! How much of the router one client may hold at a time: requests, connections.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};

/// Who counts as one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    /// Of IPv6 the network: whoever has one address of it has them all.
    Address(IpAddr),
    /// Somebody whom the API server let in.
    User(String),
    Unknown,
}

impl Client {
    pub(crate) fn at(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::Address(address.into()),
            IpAddr::V6(address) => {
                let network = Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64));
                Self::Address(network.into())
            }
        }
    }
}

/// What is held, by client.
#[derive(Clone)]
pub(crate) struct Limits {
    most: usize,
    held: Arc<Mutex<HashMap<Client, usize>>>,
}

/// A place, given back when it is dropped.
pub(crate) struct Held {
    limits: Limits,
    client: Client,
}

impl Limits {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, held: Arc::default() }
    }

    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Nothing, where the client holds all that it may.
    pub(crate) fn hold(&self, client: Client) -> Option<Held> {
        let mut held = self.held.lock().expect("nobody panics with it");
        let count = held.entry(client.clone()).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Held { limits: self.clone(), client })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = self.limits.held.lock().expect("nobody panics with it");
        if let Some(count) = held.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> Client {
        Client::at(address.parse().expect("an address"))
    }

    #[test]
    fn a_client_holds_so_much_and_leaves_nothing_behind() {
        let limits = Limits::new(2);
        let first = limits.hold(at("192.0.2.1"));
        let second = limits.hold(at("192.0.2.1"));
        assert!(first.is_some() && second.is_some() && limits.hold(at("192.0.2.1")).is_none());
        assert!(limits.hold(at("192.0.2.2")).is_some(), "others are not concerned");
        drop(first);
        assert!(limits.hold(at("192.0.2.1")).is_some());
        drop(second);
        assert!(limits.held.lock().expect("free").is_empty());
    }

    #[test]
    fn whoever_has_many_addresses_is_one_client() {
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:1"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_eq!(at("::ffff:192.0.2.1"), at("192.0.2.1"));
        assert_ne!(at("192.0.2.1"), at("192.0.2.2"));
    }
}
