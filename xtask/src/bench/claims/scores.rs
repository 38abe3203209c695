//! What all bouts gave, side by side.

use super::contender::Side;
use super::figure::{Figure, Unit};
use super::ring::Ground;
use crate::bench::processor::Shares;

/// Everything measured so far.
#[derive(Default)]
pub(super) struct Scores {
    entries: Vec<Entry>,
    shares: Vec<(Ground, Side, String, Shares)>,
    /// What went wrong, and why.
    failures: Vec<(String, String)>,
}

struct Entry {
    ground: Ground,
    what: String,
    unit: Unit,
    /// Of each round, by side.
    values: Vec<(Side, f64)>,
}

impl Scores {
    pub(super) fn add(&mut self, ground: Ground, side: Side, figure: Figure) {
        let Figure { what, unit, value } = figure;
        match self.entries.iter_mut().find(|it| it.ground == ground && it.what == what) {
            Some(entry) => entry.values.push((side, value)),
            None => self.entries.push(Entry { ground, what, unit, values: vec![(side, value)] }),
        }
    }

    pub(super) fn add_shares(&mut self, ground: Ground, side: Side, what: String, shares: Shares) {
        self.shares.push((ground, side, what, shares));
    }

    pub(super) fn add_failure(&mut self, what: &str, why: String) {
        self.failures.push((what.to_owned(), why));
    }

    /// What, and why.
    pub(super) fn failure_rows(&self) -> Vec<Vec<String>> {
        self.failures.iter().map(|(what, why)| vec![what.clone(), why.replace(['|', '\n'], " ")]).collect()
    }

    /// The middle one of the rounds.
    pub(super) fn value(&self, ground: Ground, side: Side, what: &str) -> Option<f64> {
        self.entries.iter().find(|it| it.ground == ground && it.what == what)?.median(side)
    }

    /// Ours by theirs.
    pub(super) fn ratio(&self, ground: Ground, what: &str) -> Option<f64> {
        Some(self.value(ground, Side::Ours, what)? / self.value(ground, Side::Theirs, what)?)
    }

    /// What, theirs, ours, ours by theirs.
    pub(super) fn rows(&self, ground: Ground) -> Vec<Vec<String>> {
        self.entries.iter().filter(|it| it.ground == ground).map(Entry::row).collect()
    }

    /// During what, whose, the load average, and percent of one processor for each of `names` and for the rest.
    pub(super) fn share_rows(&self, names: &[&str]) -> Vec<Vec<String>> {
        let row = |(ground, side, what, shares): &(Ground, Side, String, Shares)| {
            let share = |name: &&str| {
                let share = shares.processes.iter().find(|it| it.0 == *name);
                share.map_or_else(String::new, |it| format!("{:.0} %", it.1))
            };
            let first = [
                what.clone(),
                ground.name().to_owned(),
                side.name().to_owned(),
                format!("{:.1}", shares.load),
            ];
            let rest = std::iter::once(format!("{:.0} %", shares.rest));
            first.into_iter().chain(names.iter().map(share)).chain(rest).collect()
        };
        self.shares.iter().map(row).collect()
    }
}

impl Entry {
    fn median(&self, side: Side) -> Option<f64> {
        let mut values: Vec<f64> = self.values.iter().filter(|it| it.0 == side).map(|it| it.1).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    }

    fn row(&self) -> Vec<String> {
        let [theirs, ours] = Side::BOTH.map(|side| self.median(side));
        let written = |value: Option<f64>| value.map(|value| self.unit.written(value)).unwrap_or_default();
        let ratio = ours.zip(theirs).map(|(ours, theirs)| ours / theirs).filter(|ratio| ratio.is_finite());
        let ratio = ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        vec![self.what.clone(), written(theirs), written(ours), ratio]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores() -> Scores {
        let mut scores = Scores::default();
        for (side, value) in [(Side::Theirs, 30.0), (Side::Ours, 9.0), (Side::Ours, 6.0), (Side::Ours, 7.5)] {
            scores.add(Ground::Kubernetes, side, Figure::new("p50", Unit::Milliseconds, value));
        }
        scores.add(Ground::Kubernetes, Side::Ours, Figure::new("p99", Unit::Milliseconds, f64::INFINITY));
        scores
    }

    #[test]
    fn of_several_rounds_the_middle_one_stands_beside_the_other_side() {
        let rows = scores().rows(Ground::Kubernetes);
        assert_eq!(rows, [vec!["p50", "30.0 ms", "7.5 ms", "0.25"], vec!["p99", "", "never", ""]]);
        assert!(scores().rows(Ground::Embedded).is_empty());
    }

    #[test]
    fn a_ratio_needs_both_sides() {
        assert_eq!(scores().ratio(Ground::Kubernetes, "p50"), Some(0.25));
        assert_eq!(scores().ratio(Ground::Kubernetes, "p99"), None);
    }

    #[test]
    fn what_went_wrong_fits_into_a_table() {
        let mut scores = Scores::default();
        scores.add_failure("d: fill", "12 of 60\n| more".to_owned());
        assert_eq!(scores.failure_rows(), [["d: fill", "12 of 60   more"]]);
    }

    #[test]
    fn who_was_not_there_used_nothing() {
        let mut scores = Scores::default();
        let shares = Shares { processes: vec![("etcd", 12.4)], rest: 7.0, load: 2.0 };
        scores.add_shares(Ground::Kubernetes, Side::Ours, "fill".to_owned(), shares);
        let rows = scores.share_rows(&["server", "etcd"]);
        assert_eq!(rows, [vec!["fill", "kube-apiserver", "ours", "2.0", "", "12 %", "7 %"]]);
    }
}
