//! What time it is, and what chance says. Both are given to the operator, so that a run can be repeated.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;
}

/// The time of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A sequence of numbers that nobody can foresee, or that can be repeated from its seed. Good for names, not for secrets.
#[derive(Debug)]
pub struct Dice(Mutex<u64>);

impl Dice {
    pub fn seeded(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }

    /// A sequence of its own for this process.
    pub fn loaded_by_chance() -> Self {
        Self::seeded(RandomState::new().hash_one("asb"))
    }

    /// The next number (SplitMix64).
    pub fn roll(&self) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_sequence() {
        let (one, other) = (Dice::seeded(7), Dice::seeded(7));
        assert_eq!([one.roll(), one.roll()], [other.roll(), other.roll()]);
        assert_ne!(one.roll(), Dice::seeded(8).roll());
    }
}
