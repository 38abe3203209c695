//! When claims come. The same for every contender: chance is a seed.

/// Microseconds after the start, in order.
pub(super) type Offsets = Vec<u64>;

/// So many each second for so long, as strangers come who know nothing of each other: a Poisson process of which only the
/// number is fixed, so that every contender gets as many.
pub(super) fn strangers(per_second: u32, seconds: u32, seed: u64) -> Offsets {
    let (count, span) = (per_second * seconds, u64::from(seconds) * 1_000_000);
    let mut chance = Chance(seed);
    let mut offsets: Offsets = (0..count).map(|_| chance.next() % span).collect();
    offsets.sort_unstable();
    offsets
}

/// All together.
pub(super) fn crowd(count: usize) -> Offsets {
    vec![0; count]
}

/// Rates that grow by a quarter from one to another.
pub(super) fn rising(first: u32, most: u32) -> Vec<u32> {
    std::iter::successors(Some(first), |rate| Some(rate + rate.div_ceil(4)))
        .take_while(|rate| *rate <= most)
        .collect()
}

/// SplitMix64: short, well spread, and the same everywhere.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_come_in_their_number_within_their_time_and_always_alike() {
        let offsets = strangers(25, 10, 7);
        assert_eq!(offsets.len(), 250);
        assert!(offsets.is_sorted() && offsets.iter().all(|offset| *offset < 10_000_000));
        assert_eq!(offsets, strangers(25, 10, 7));
        assert_ne!(offsets, strangers(25, 10, 8));
    }

    #[test]
    fn strangers_keep_no_distance_and_no_appointment() {
        let offsets = strangers(100, 100, 1);
        let gaps: Vec<u64> = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // Of the gaps of a Poisson process 63 % are shorter than the mean; of even ones none or all.
        let short = gaps.iter().filter(|gap| **gap < 10_000).count();
        assert!((6_000..6_600).contains(&short), "{short}");
    }

    #[test]
    fn a_crowd_comes_at_once() {
        assert_eq!(crowd(3), [0, 0, 0]);
    }

    #[test]
    fn rates_rise_by_a_quarter_and_end() {
        assert_eq!(rising(20, 60), [20, 25, 32, 40, 50]);
        assert_eq!(rising(2, 4), [2, 3, 4]);
    }
}
