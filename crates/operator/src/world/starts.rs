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
    pub(super) fn note(&mut self, pool: Key, took: SignedDuration) {
        let starts = self.0.entry(pool).or_default();
        starts.push_back(took);
        if starts.len() > MOST {
            starts.pop_front();
        }
    }

    pub(super) fn take(&mut self, pool: &Key) -> Vec<SignedDuration> {
        self.0.remove(pool).map(Into::into).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_are_kept() {
        let (mut starts, pool) = (Starts::default(), Key::new("team", "pool"));
        for second in 0..1000 {
            starts.note(pool.clone(), SignedDuration::from_secs(second));
        }
        let kept = starts.take(&pool);
        assert_eq!((kept.len(), kept.last()), (MOST, Some(&SignedDuration::from_secs(999))));
        assert!(starts.take(&pool).is_empty());
    }
}
