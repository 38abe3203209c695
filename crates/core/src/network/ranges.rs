//! Sets of IPv4 addresses as sorted ranges that do not touch, which is what the kernel wants of a set of intervals.

use std::net::Ipv4Addr;

use super::cidr::Cidr;

/// Inclusive on both ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(Vec<(u32, u32)>);

impl Ranges {
    pub fn of(blocks: impl IntoIterator<Item = Cidr>) -> Self {
        let mut ranges = Self::default();
        blocks.into_iter().for_each(|block| ranges.add((block.first().to_bits(), block.last().to_bits())));
        ranges
    }

    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        other.0.iter().for_each(|range| self.add(*range));
        self
    }

    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        other.0.iter().fold(self.clone(), |kept, hole| kept.cut(*hole))
    }

    pub fn contains(&self, address: Ipv4Addr) -> bool {
        let address = address.to_bits();
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&address))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (Ipv4Addr, Ipv4Addr)> {
        self.0.iter().map(|(first, last)| (Ipv4Addr::from_bits(*first), Ipv4Addr::from_bits(*last)))
    }

    fn add(&mut self, (mut first, mut last): (u32, u32)) {
        self.0.retain(|(from, to)| {
            let apart = last.checked_add(1).is_some_and(|after| after < *from)
                || to.checked_add(1).is_some_and(|after| after < first);
            if !apart {
                (first, last) = (first.min(*from), last.max(*to));
            }
            apart
        });
        let place = self.0.partition_point(|(from, _)| *from < first);
        self.0.insert(place, (first, last));
    }

    fn cut(&self, (first, last): (u32, u32)) -> Self {
        let pieces = self.0.iter().flat_map(|(from, to)| {
            let before = first.checked_sub(1).map(|end| (*from, end.min(*to)));
            let after = last.checked_add(1).map(|start| (start.max(*from), *to));
            [before, after].into_iter().flatten().filter(|(from, to)| from <= to)
        });
        Self(pieces.collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn blocks() -> impl Strategy<Value = Vec<Cidr>> {
        prop::collection::vec((any::<u8>(), 24..=32u8), 0..6).prop_map(|blocks| {
            blocks
                .into_iter()
                .map(|(last, length)| Cidr::new(Ipv4Addr::new(10, 0, 0, last), length))
                .collect()
        })
    }

    fn has(blocks: &[Cidr], address: Ipv4Addr) -> bool {
        blocks.iter().any(|block| block.contains(address))
    }

    proptest! {
        #[test]
        fn sums_and_differences_are_those_of_sets(one in blocks(), other in blocks(), except in blocks()) {
            let sum = Ranges::of(one.clone()).with(&Ranges::of(other.clone())).without(&Ranges::of(except.clone()));
            for last in 0..=255 {
                let address = Ipv4Addr::new(10, 0, 0, last);
                let expected = (has(&one, address) || has(&other, address)) && !has(&except, address);
                prop_assert_eq!(sum.contains(address), expected);
            }
            prop_assert!(sum.0.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0), "they touch: {:?}", sum);
        }
    }

    #[test]
    fn the_ends_of_the_address_space_are_no_exception() {
        let all = Ranges::of(["0.0.0.0/0".parse().unwrap()]);
        let cut = all.without(&Ranges::of(["0.0.0.0/1".parse().unwrap(), "255.0.0.0/8".parse().unwrap()]));
        let expected = vec![(Ipv4Addr::new(128, 0, 0, 0), Ipv4Addr::new(254, 255, 255, 255))];
        assert_eq!(cut.iter().collect::<Vec<_>>(), expected);
        assert!(all.without(&all).is_empty());
    }
}
