//! How long the Sandboxes of a template take from their start to Ready: a moving average and how far from it they stray.

use jiff::SignedDuration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Estimate {
    usual: SignedDuration,
    straying: SignedDuration,
}

/// Creation times have whole seconds, so that a start looks up to one longer than it was.
const PRECISION: SignedDuration = SignedDuration::from_secs(1);

impl Estimate {
    /// Weighs the newest start as an eighth and its straying as a quarter, as TCP does for round trips.
    pub(super) fn add(&mut self, took: SignedDuration) {
        let took = took.max(SignedDuration::ZERO);
        let error = took - self.usual;
        self.usual += error / 8;
        self.straying += (error.abs() - self.straying) / 4;
    }

    pub(super) fn usual(&self) -> SignedDuration {
        self.usual
    }

    /// What takes longer than this is not just slow.
    pub(super) fn slowest(&self) -> SignedDuration {
        self.usual.saturating_add(self.straying.saturating_mul(4)).saturating_add(PRECISION)
    }
}

impl From<SignedDuration> for Estimate {
    fn from(first: SignedDuration) -> Self {
        let first = first.max(SignedDuration::ZERO);
        Self { usual: first, straying: first / 2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_follows_what_was_observed() {
        let mut estimate = Estimate::from(SignedDuration::from_secs(10));
        for _ in 0..100 {
            estimate.add(SignedDuration::from_secs(2));
        }
        assert!((estimate.usual() - SignedDuration::from_secs(2)).abs() < SignedDuration::from_millis(10));
        assert!(estimate.slowest() < SignedDuration::from_millis(3_100));
    }

    #[test]
    fn a_start_before_its_own_beginning_took_no_time() {
        assert_eq!(Estimate::from(SignedDuration::from_secs(-5)).usual(), SignedDuration::ZERO);
    }
}
