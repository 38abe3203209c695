//! Which address a new Pod gets. What is given out follows from the Pods in the store; only how long ago an address was
//! given back is remembered, so that late packets for one Pod do not reach the next.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use jiff::{SignedDuration, Timestamp};

use super::cidr::Cidr;

/// How long an address rests after its Pod, as long as there are others.
pub const REST: SignedDuration = SignedDuration::from_mins(2);

/// The addresses of a range. The first is the node's own: gateway and name server of every Pod.
#[derive(Clone, Debug)]
pub struct Addresses {
    range: Cidr,
    resting: BTreeMap<Ipv4Addr, Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("all addresses of {0} are in use")]
pub struct Exhausted(Cidr);

impl Addresses {
    pub fn new(range: Cidr) -> Self {
        Self { range, resting: BTreeMap::new() }
    }

    pub fn range(&self) -> Cidr {
        self.range
    }

    /// Where Pods find the node.
    pub fn node(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.range.first().to_bits().saturating_add(1))
    }

    /// The lowest address that no Pod has and that has rested; if all are resting, the one that rests longest.
    pub fn next(&mut self, taken: &BTreeSet<Ipv4Addr>, now: Timestamp) -> Result<Ipv4Addr, Exhausted> {
        self.resting.retain(|_, since| now.duration_since(*since) < REST);
        let free = || self.for_pods().filter(|address| !taken.contains(address));
        let rested = free().find(|address| !self.resting.contains_key(address));
        rested.or_else(|| free().min_by_key(|address| self.resting[address])).ok_or(Exhausted(self.range))
    }

    pub fn give_back(&mut self, address: Ipv4Addr, now: Timestamp) {
        if self.range.contains(address) {
            self.resting.insert(address, now);
        }
    }

    /// Whether it is one that a Pod can have.
    pub fn is_for_pods(&self, address: Ipv4Addr) -> bool {
        self.node() < address && address < self.range.last()
    }

    /// Without the block's first address, the node's, and the last, which means everybody.
    fn for_pods(&self) -> impl Iterator<Item = Ipv4Addr> {
        let (first, last) = (self.node().to_bits().saturating_add(1), self.range.last().to_bits());
        (first..last).map(Ipv4Addr::from_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::UNIX_EPOCH;

    fn pool() -> Addresses {
        Addresses::new("10.1.0.0/29".parse().unwrap())
    }

    fn address(last: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 1, 0, last)
    }

    #[test]
    fn the_lowest_free_address_is_given_and_the_node_keeps_the_first() {
        assert_eq!(pool().node(), address(1));
        assert_eq!(pool().next(&BTreeSet::new(), NOON), Ok(address(2)));
        assert_eq!(pool().next(&BTreeSet::from([address(2), address(4)]), NOON), Ok(address(3)));
    }

    #[test]
    fn an_address_rests_before_it_is_given_again() {
        let mut pool = pool();
        pool.give_back(address(2), NOON);
        assert_eq!(pool.next(&BTreeSet::new(), NOON), Ok(address(3)));
        assert_eq!(pool.next(&BTreeSet::new(), NOON + REST), Ok(address(2)));
    }

    #[test]
    fn rest_ends_early_when_nothing_else_is_left() {
        let mut pool = pool();
        pool.give_back(address(3), NOON);
        pool.give_back(address(2), NOON + SignedDuration::from_secs(1));
        let taken = BTreeSet::from([4, 5, 6].map(address));
        assert_eq!(pool.next(&taken, NOON + SignedDuration::from_secs(2)), Ok(address(3)));
    }

    #[test]
    fn a_full_range_is_said_to_be_full() {
        let taken = (2..7).map(address).collect();
        assert_eq!(
            pool().next(&taken, NOON).unwrap_err().to_string(),
            "all addresses of 10.1.0.0/29 are in use"
        );
    }
}
