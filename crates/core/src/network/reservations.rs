//! Which Pod has which address of the range, from before it is connected until after it is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use jiff::Timestamp;

use super::addresses::{Addresses, Exhausted};
use super::cidr::Cidr;
use crate::object::Uid;

#[derive(Clone, Debug)]
pub struct Reservations {
    pool: Addresses,
    held: BTreeMap<Uid, Ipv4Addr>,
    taken: BTreeSet<Ipv4Addr>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
    #[error("the address {0} is another Pod's")]
    Taken(Ipv4Addr),
    #[error("the address {address} is not one that Pods get of {range}")]
    Foreign { address: Ipv4Addr, range: Cidr },
}

impl Reservations {
    pub fn new(range: Cidr) -> Self {
        Self { pool: Addresses::new(range), held: BTreeMap::new(), taken: BTreeSet::new() }
    }

    pub fn range(&self) -> Cidr {
        self.pool.range()
    }

    /// Where Pods find the node.
    pub fn node(&self) -> Ipv4Addr {
        self.pool.node()
    }

    pub fn of(&self, uid: &Uid) -> Option<Ipv4Addr> {
        self.held.get(uid).copied()
    }

    /// Always the same for one Pod, until it is given back.
    pub fn next(&mut self, uid: &Uid, now: Timestamp) -> Result<Ipv4Addr, Unavailable> {
        if let Some(address) = self.of(uid) {
            return Ok(address);
        }
        let address = self.pool.next(&self.taken, now)?;
        self.hold(uid, address);
        Ok(address)
    }

    /// The one that a Pod has already.
    pub fn keep(&mut self, uid: &Uid, address: Ipv4Addr) -> Result<(), Unavailable> {
        if self.of(uid) == Some(address) {
            return Ok(());
        }
        if !self.pool.is_for_pods(address) {
            return Err(Unavailable::Foreign { address, range: self.range() });
        }
        if self.taken.contains(&address) {
            return Err(Unavailable::Taken(address));
        }
        if let Some(other) = self.held.remove(uid) {
            self.taken.remove(&other);
        }
        self.hold(uid, address);
        Ok(())
    }

    /// It rests before somebody else gets it.
    pub fn give_back(&mut self, uid: &Uid, now: Timestamp) {
        if let Some(address) = self.held.remove(uid) {
            self.taken.remove(&address);
            self.pool.give_back(address, now);
        }
    }

    /// Somebody unknown had it a moment ago.
    pub fn rest(&mut self, address: Ipv4Addr, now: Timestamp) {
        self.pool.give_back(address, now);
    }

    fn hold(&mut self, uid: &Uid, address: Ipv4Addr) {
        self.held.insert(uid.clone(), address);
        self.taken.insert(address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::addresses::REST;

    const NOON: Timestamp = Timestamp::UNIX_EPOCH;

    fn some() -> Reservations {
        Reservations::new("10.1.0.0/29".parse().unwrap())
    }

    fn address(last: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 1, 0, last)
    }

    #[test]
    fn a_pod_that_asks_again_has_the_address_it_had() {
        let mut reservations = some();
        let (a, b) = ("a".into(), "b".into());
        assert_eq!(reservations.next(&a, NOON), Ok(address(2)));
        assert_eq!(reservations.next(&b, NOON), Ok(address(3)));
        assert_eq!(reservations.next(&a, NOON), Ok(address(2)));
        assert_eq!(reservations.keep(&a, address(2)), Ok(()));
    }

    #[test]
    fn what_a_pod_keeps_is_nobody_elses() {
        let mut reservations = some();
        assert_eq!(reservations.keep(&"a".into(), address(2)), Ok(()));
        assert_eq!(reservations.keep(&"b".into(), address(2)), Err(Unavailable::Taken(address(2))));
        assert_eq!(reservations.next(&"b".into(), NOON), Ok(address(3)));
    }

    #[test]
    fn the_nodes_address_and_those_of_other_ranges_are_not_kept() {
        let range = some().range();
        for address in [address(1), address(7), Ipv4Addr::new(10, 2, 0, 2)] {
            let refused = some().keep(&"a".into(), address);
            assert_eq!(refused, Err(Unavailable::Foreign { address, range }));
        }
    }

    #[test]
    fn an_address_that_was_given_back_rests() {
        let mut reservations = some();
        assert_eq!(reservations.next(&"a".into(), NOON), Ok(address(2)));
        reservations.give_back(&"a".into(), NOON);
        reservations.rest(address(3), NOON);
        assert_eq!(reservations.next(&"b".into(), NOON), Ok(address(4)));
        assert_eq!(reservations.next(&"c".into(), NOON + REST), Ok(address(2)));
    }
}
