//! Which ids of this machine are whose. Every Pod has a range of its own, clear of users, subordinate ids and what other
//! programs of this kind take.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::shim::plan::IdRange;

const FIRST: u32 = 2_000_000_000;
const WIDTH: u32 = 65_536;
/// Up to the last id that there is.
const COUNT: u32 = (u32::MAX - FIRST) / WIDTH;

#[derive(Debug, Default)]
pub struct Ids {
    taken: Mutex<BTreeSet<u32>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("all {COUNT} ranges of ids are in use")]
pub struct NoIds;

impl Ids {
    /// A range that nobody has. It begins to look where the Pod's UID says, so that two nodes on one machine seldom meet.
    pub fn take(&self, uid: &str) -> Result<IdRange, NoIds> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let hash = uid.bytes().fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        let first = hash % COUNT;
        let index = gap(&taken, first..COUNT).or_else(|| gap(&taken, 0..first)).ok_or(NoIds)?;
        taken.insert(index);
        Ok(IdRange { first: FIRST + index * WIDTH, count: WIDTH })
    }

    /// The range of a Pod that lives already.
    pub fn keep(&self, range: IdRange) {
        self.change(range, |taken, index| taken.extend([index]));
    }

    pub fn give_back(&self, range: IdRange) {
        self.change(range, |taken, index| taken.retain(|other| *other != index));
    }

    fn change(&self, range: IdRange, change: impl FnOnce(&mut BTreeSet<u32>, u32)) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut taken, range.first.saturating_sub(FIRST) / WIDTH);
    }
}

/// The first that is not taken.
fn gap(taken: &BTreeSet<u32>, among: Range<u32>) -> Option<u32> {
    let free = among.clone().zip(taken.range(among.clone()).map(Some).chain(std::iter::repeat(None)));
    free.into_iter().find(|(index, taken)| *taken != Some(index)).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_do_not_overlap_and_are_given_again() {
        let ids = Ids::default();
        let (one, other) = (ids.take("a").unwrap(), ids.take("a").unwrap());
        assert_eq!(one.first + one.count, other.first);
        ids.give_back(one);
        assert_eq!(ids.take("a").unwrap(), one);
    }

    #[test]
    fn the_last_range_ends_before_the_ids_do() {
        let ids = Ids::default();
        for index in 0..COUNT - 1 {
            ids.keep(IdRange { first: FIRST + index * WIDTH, count: WIDTH });
        }
        let last = ids.take("x").unwrap();
        assert!(last.first.checked_add(last.count).is_some());
        assert_eq!(ids.take("x"), Err(NoIds));
    }
}
