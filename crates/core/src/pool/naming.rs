//! Names for new members: the pool's, and a few characters of chance.

use std::collections::BTreeSet;

use asb_types::names;

/// Kubernetes' own choice for generated names: neither vowels nor what is easily mistaken, so that no words come out.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const LENGTH: usize = 5;

/// An endless row of numbers from one, as good as random and always the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance(pub u64);

impl Chance {
    /// SplitMix64.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn suffix(&mut self) -> String {
        let mut number = self.next();
        let mut suffix = String::with_capacity(LENGTH);
        for _ in 0..LENGTH {
            let place = usize::try_from(number % 27).unwrap_or_default();
            suffix.push(char::from(ALPHABET[place]));
            number /= 27;
        }
        suffix
    }
}

/// As many names as asked for, none of them taken and no two alike.
pub(super) fn fresh(pool: &str, count: usize, taken: &BTreeSet<&str>, chance: &mut Chance) -> Vec<String> {
    let mut names = BTreeSet::new();
    let mut row = Vec::with_capacity(count);
    while row.len() < count {
        let name = names::pooled_sandbox(pool, &chance.suffix());
        if !taken.contains(name.as_str()) && names.insert(name.clone()) {
            row.push(name);
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_new_and_the_same_for_the_same_chance() {
        let some = fresh("pool", 300, &BTreeSet::new(), &mut Chance(7));
        assert_eq!(some, fresh("pool", 300, &BTreeSet::new(), &mut Chance(7)));
        let taken: BTreeSet<_> = some.iter().map(String::as_str).collect();
        let others = fresh("pool", 300, &taken, &mut Chance(7));
        assert!(others.iter().all(|name| !taken.contains(name.as_str()) && name.len() == "pool-".len() + 5));
    }
}
