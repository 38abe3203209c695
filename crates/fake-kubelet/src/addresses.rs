//! Hands out Pod addresses, one per range and Pod, and takes them back when the Pod is gone.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Addresses by range, none handed out twice at a time.
#[derive(Debug)]
pub(super) struct Addresses {
    ranges: Vec<Range>,
}

/// A block of addresses in CIDR notation. The first is the network's own and the last its broadcast; neither is
/// handed out.
#[derive(Debug)]
pub(super) struct Range {
    family: Family,
    base: u128,
    size: u128,
    next: u128,
    taken: HashSet<u128>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no address range such as 10.244.0.0/16")]
pub struct BadRange(String);

impl Addresses {
    pub(super) fn new(ranges: Vec<Range>) -> Self {
        Self { ranges }
    }

    /// One address of each range, or none at all when one is used up.
    pub(super) fn take(&mut self) -> Option<Vec<IpAddr>> {
        let taken: Vec<_> = self.ranges.iter_mut().map_while(Range::take).collect();
        if taken.len() == self.ranges.len() {
            return Some(taken);
        }
        self.give_back(&taken);
        None
    }

    /// Marks addresses that Pods had before this kubelet began.
    pub(super) fn reserve(&mut self, addresses: &[IpAddr]) {
        self.each_offset(addresses, |range, offset| {
            range.taken.insert(offset);
        });
    }

    pub(super) fn give_back(&mut self, addresses: &[IpAddr]) {
        self.each_offset(addresses, |range, offset| {
            range.taken.remove(&offset);
        });
    }

    fn each_offset(&mut self, addresses: &[IpAddr], mut act: impl FnMut(&mut Range, u128)) {
        for range in &mut self.ranges {
            for offset in addresses.iter().filter_map(|address| range.offset(*address)).collect::<Vec<_>>() {
                act(range, offset);
            }
        }
    }
}

impl Range {
    /// Goes round, so that an address given back is the last to be used again.
    fn take(&mut self) -> Option<IpAddr> {
        let usable = self.size - 2;
        let offsets = (0..usable).map(|step| (self.next + step) % usable + 1);
        let offset = offsets.into_iter().find(|offset| !self.taken.contains(offset))?;
        self.taken.insert(offset);
        self.next = offset % usable;
        Some(self.address(offset))
    }

    #[expect(clippy::cast_possible_truncation, reason = "an IPv4 range holds no larger number")]
    fn address(&self, offset: u128) -> IpAddr {
        match self.family {
            Family::V4 => Ipv4Addr::from_bits((self.base + offset) as u32).into(),
            Family::V6 => Ipv6Addr::from_bits(self.base + offset).into(),
        }
    }

    fn offset(&self, address: IpAddr) -> Option<u128> {
        let (family, bits) = bits(address);
        let offset = bits.checked_sub(self.base)?;
        (family == self.family && offset < self.size).then_some(offset)
    }
}

impl FromStr for Range {
    type Err = BadRange;

    fn from_str(text: &str) -> Result<Self, BadRange> {
        parse(text).ok_or_else(|| BadRange(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Range> {
    let (address, length) = text.split_once('/')?;
    let (family, bits) = bits(address.parse().ok()?);
    let width = if family == Family::V4 { 32 } else { 128 };
    let free = u32::checked_sub(width, length.parse().ok()?).filter(|free| (2..128).contains(free))?;
    let size = 1 << free;
    Some(Range { family, base: bits - bits % size, size, next: 0, taken: HashSet::new() })
}

fn bits(address: IpAddr) -> (Family, u128) {
    match address {
        IpAddr::V4(address) => (Family::V4, address.to_bits().into()),
        IpAddr::V6(address) => (Family::V6, address.to_bits()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(ranges: &[&str]) -> Addresses {
        Addresses::new(ranges.iter().map(|range| range.parse().unwrap()).collect())
    }

    fn ips(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_range_is_handed_out_once_and_then_is_empty() {
        let mut addresses = addresses(&["10.0.0.4/30"]);
        assert_eq!(addresses.take(), Some(ips(&["10.0.0.5"])));
        assert_eq!(addresses.take(), Some(ips(&["10.0.0.6"])));
        assert_eq!(addresses.take(), None);
    }

    #[test]
    fn an_address_given_back_is_the_last_to_be_used_again() {
        let mut addresses = addresses(&["10.0.0.0/29"]);
        let first = addresses.take().unwrap();
        addresses.give_back(&first);
        let later: Vec<_> = (0..6).map(|_| addresses.take().unwrap()).collect();
        assert_eq!(later.last(), Some(&first));
    }

    #[test]
    fn two_ranges_give_a_pod_an_address_of_each() {
        let mut addresses = addresses(&["10.244.0.0/16", "fd00:244::/64"]);
        assert_eq!(addresses.take(), Some(ips(&["10.244.0.1", "fd00:244::1"])));
    }

    #[test]
    fn nothing_is_lost_when_one_of_two_ranges_is_empty() {
        let mut addresses = addresses(&["10.0.0.0/29", "fd00::/126"]);
        while addresses.take().is_some() {}
        assert_eq!(addresses.ranges[0].taken.len(), 2);
    }

    #[test]
    fn a_reserved_address_is_not_handed_out() {
        let mut addresses = addresses(&["10.0.0.0/30"]);
        addresses.reserve(&ips(&["10.0.0.1", "192.0.2.7", "::1"]));
        assert_eq!(addresses.take(), Some(ips(&["10.0.0.2"])));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/31", "::/0", "pods/16"] {
            assert_eq!(text.parse::<Range>().unwrap_err(), BadRange(text.to_owned()));
        }
    }
}
