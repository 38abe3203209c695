//! Blocks of IPv4 addresses, and which block Pods get on a machine that nobody configured.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// `10.244.0.0/16`. The bits behind the prefix are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Cidr {
    first: Ipv4Addr,
    length: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a block of IPv4 addresses such as 10.0.0.0/8")]
pub struct NotABlock(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("every candidate for the addresses of Pods is in use on this machine; name a free range")]
pub struct NoFreeRange;

impl Cidr {
    /// The block of this length that has the address in it.
    pub const fn new(address: Ipv4Addr, length: u8) -> Self {
        let length = if length < 32 { length } else { 32 };
        Self { first: Ipv4Addr::from_bits(address.to_bits() & mask(length)), length }
    }

    pub fn first(self) -> Ipv4Addr {
        self.first
    }

    pub fn last(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first.to_bits() | !mask(self.length))
    }

    pub fn length(self) -> u8 {
        self.length
    }

    pub fn mask(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(mask(self.length))
    }

    pub fn contains(self, address: Ipv4Addr) -> bool {
        self.first <= address && address <= self.last()
    }

    pub fn overlaps(self, other: Self) -> bool {
        self.first <= other.last() && other.first <= self.last()
    }
}

const fn mask(length: u8) -> u32 {
    match u32::MAX.checked_shl(32 - length as u32) {
        Some(mask) => mask,
        None => 0,
    }
}

impl From<Cidr> for String {
    fn from(block: Cidr) -> Self {
        block.to_string()
    }
}

impl TryFrom<String> for Cidr {
    type Error = NotABlock;

    fn try_from(text: String) -> Result<Self, NotABlock> {
        text.parse()
    }
}

impl FromStr for Cidr {
    type Err = NotABlock;

    fn from_str(text: &str) -> Result<Self, NotABlock> {
        let bad = || NotABlock(text.to_owned());
        let (address, length) = text.split_once('/').ok_or_else(bad)?;
        let address = address.parse().map_err(|_| bad())?;
        let length = length.parse().ok().filter(|length| *length <= 32).ok_or_else(bad)?;
        Ok(Self::new(address, length))
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.first, self.length)
    }
}

/// A block of either family, as policies may name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    V4(Cidr),
    /// Nothing that a Pod here can send or receive is in it.
    V6,
}

impl FromStr for Block {
    type Err = NotABlock;

    fn from_str(text: &str) -> Result<Self, NotABlock> {
        if !text.contains(':') {
            return text.parse().map(Self::V4);
        }
        let bad = || NotABlock(text.to_owned());
        let (address, length) = text.split_once('/').ok_or_else(bad)?;
        address.parse::<Ipv6Addr>().map_err(|_| bad())?;
        length.parse::<u8>().ok().filter(|length| *length <= 128).map(|_| Self::V6).ok_or_else(bad)
    }
}

/// The first candidate that meets nothing in use: addresses and routes of the host, and the addresses of Services.
///
/// Candidates are private addresses of RFC 1918 and no others: policies that say "public addresses only" except those,
/// and must keep Pods from each other.
pub fn choose(in_use: &[Cidr]) -> Result<Cidr, NoFreeRange> {
    // A default route is not a neighbour: it says where everything else is.
    let neighbours: Vec<_> = in_use.iter().filter(|block| block.length() > 0).collect();
    candidates().find(|candidate| !neighbours.iter().any(|used| used.overlaps(*candidate))).ok_or(NoFreeRange)
}

fn candidates() -> impl Iterator<Item = Cidr> {
    let tens = (244..=254).chain(130..=243).map(|second| Cidr::new(Ipv4Addr::new(10, second, 0, 0), 16));
    let others = (20..=31).map(|second| Cidr::new(Ipv4Addr::new(172, second, 0, 0), 16));
    let small = (0..8).map(|part| Cidr::new(Ipv4Addr::new(192, 168, part * 32, 0), 19));
    tens.chain(others).chain(small)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> Cidr {
        text.parse().unwrap()
    }

    #[test]
    fn bits_behind_the_prefix_do_not_count() {
        assert_eq!(block("10.1.2.3/16").to_string(), "10.1.0.0/16");
        assert_eq!(block("10.1.2.3/16").last(), Ipv4Addr::new(10, 1, 255, 255));
        assert_eq!(block("0.0.0.0/0").last(), Ipv4Addr::BROADCAST);
        assert_eq!(block("10.1.2.3/32").last(), Ipv4Addr::new(10, 1, 2, 3));
    }

    #[test]
    fn what_is_not_a_block_is_refused() {
        for text in ["", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "10.0.0.0/-1", "::/0", "10.0.0.0/8/8"] {
            assert!(text.parse::<Cidr>().is_err(), "{text}");
        }
        assert_eq!("fc00::/7".parse(), Ok(Block::V6));
        assert!("fc00::/129".parse::<Block>().is_err());
    }

    #[test]
    fn a_machine_of_its_own_gets_the_first_candidate() {
        let used = ["0.0.0.0/0", "192.0.2.0/24", "127.0.0.0/8", "10.96.0.0/16"].map(block);
        assert_eq!(choose(&used), Ok(block("10.244.0.0/16")));
    }

    #[test]
    fn ranges_that_meet_an_address_or_a_route_of_the_host_are_passed_over() {
        let used = ["10.244.3.7/32", "10.245.0.0/24", "10.240.0.0/12"].map(block);
        assert_eq!(choose(&used), Ok(block("10.130.0.0/16")));
        assert_eq!(choose(&["10.0.0.0/8", "172.16.0.0/13"].map(block)), Ok(block("172.24.0.0/16")));
        let all = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"].map(block);
        assert_eq!(choose(&all), Err(NoFreeRange));
    }
}
