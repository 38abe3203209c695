//! How long many things took, some of which never ended.

/// Microseconds, sorted, and how many are not among them because they never ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sample {
    times: Vec<u64>,
    pub(super) missing: usize,
}

impl FromIterator<Option<u64>> for Sample {
    fn from_iter<T: IntoIterator<Item = Option<u64>>>(all: T) -> Self {
        let all: Vec<_> = all.into_iter().collect();
        let mut times: Vec<u64> = all.iter().copied().flatten().collect();
        times.sort_unstable();
        Self { missing: all.len() - times.len(), times }
    }
}

impl Sample {
    /// Milliseconds that at least so many percent do not exceed. What never ended took for ever.
    pub(super) fn percentile(&self, percent: usize) -> f64 {
        self.at(percent).map_or(f64::INFINITY, milliseconds)
    }

    fn at(&self, percent: usize) -> Option<u64> {
        let rank = (self.len() * percent).div_ceil(100);
        self.times.get(rank.saturating_sub(1)).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.times.len() + self.missing
    }
}

#[expect(clippy::cast_precision_loss, reason = "no benchmark takes three hundred years")]
pub(super) fn milliseconds(micros: u64) -> f64 {
    micros as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_values() {
        let sample: Sample = (1..=200).rev().map(Some).collect();
        assert_eq!([50, 90, 99, 100].map(|percent| sample.at(percent)), [100, 180, 198, 200].map(Some));
        assert_eq!(sample.len(), 200);
    }

    #[test]
    fn what_never_ended_counts_as_the_slowest() {
        let sample: Sample = [Some(1000), None, Some(3000), Some(2000)].into_iter().collect();
        assert_eq!((sample.missing, sample.len()), (1, 4));
        assert_eq!([50, 75, 99].map(|percent| sample.at(percent)), [Some(2000), Some(3000), None]);
        assert!(sample.percentile(99).is_infinite());
    }

    #[test]
    fn nothing_at_all_is_not_fast() {
        assert!(Sample::default().percentile(50).is_infinite());
    }
}
