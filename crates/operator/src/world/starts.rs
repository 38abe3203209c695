//! How long members of each pool took to become Ready, kept until the pool looks. It may never: whoever stands by looks at
//! nothing, so that only the latest are kept.

use std::collections::{BTreeMap, VecDeque};

use asb_core::object::Key;
use jiff::SignedDuration;

/// More than these change nothing about what a pool makes of them.
const MOST: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Starts(BTreeMap<Key, VecDeque<SignedDuration>>);

impl Starts {
    pub(super) fn add(&mut self, pool: Key, took: SignedDuration) {
        let starts = self.0.entry(pool).or_default();
        if starts.len() == MOST {
            starts.pop_front();
        }
        starts.push_back(took);
    }

    pub(super) fn take(&mut self, pool: &Key) -> Vec<SignedDuration> {
        self.0.remove(pool).unwrap_or_default().into()
    }

    pub(super) fn size(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_starts_are_kept_until_somebody_looks() {
        let (mut starts, pool) = (Starts::default(), Key::new("team", "pool"));
        for second in 0..100 {
            starts.add(pool.clone(), SignedDuration::from_secs(second));
        }
        let taken = starts.take(&pool);
        assert_eq!((taken.len(), taken.last()), (MOST, Some(&SignedDuration::from_secs(99))));
        assert_eq!((starts.take(&pool), starts.size()), (Vec::new(), 0));
    }
}
