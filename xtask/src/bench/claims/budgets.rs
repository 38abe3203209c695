//! What we promised, and whether it holds.

use super::bout::BESIDE_THE_POOL;
use super::contender::Side;
use super::ring::Ground;
use super::scores::Scores;

/// What is measured on one ground, and what it may be.
struct Budget {
    says: &'static str,
    ground: Ground,
    what: String,
    limit: Limit,
}

enum Limit {
    /// Ours by theirs is at most this.
    RatioUpTo(f64),
    /// Ours by theirs is at least this.
    RatioFrom(f64),
    /// Ours is at most this.
    UpTo(f64),
}

/// Budget, measured, holds or missed. What was not measured is left out.
pub(super) fn rows(scores: &Scores, fsync: Option<f64>) -> Vec<Vec<String>> {
    budgets(fsync).iter().filter_map(|budget| budget.row(scores)).collect()
}

fn budgets(fsync: Option<f64>) -> Vec<Budget> {
    use Ground::{Embedded, Kubernetes};
    use Limit::{RatioFrom, RatioUpTo, UpTo};
    let third = "at 10 claims/s at most 1/3 of upstream's";
    let fifth = "at 25 claims/s at most 1/5 of upstream's";
    let budget = |says, ground, what: &str, limit| Budget { says, ground, what: what.to_owned(), limit };
    let mut budgets = vec![
        budget(third, Kubernetes, "10 claims/s: p50", RatioUpTo(1.0 / 3.0)),
        budget(third, Kubernetes, "10 claims/s: p99", RatioUpTo(1.0 / 3.0)),
        budget(fifth, Kubernetes, "25 claims/s: p50", RatioUpTo(0.2)),
        budget(fifth, Kubernetes, "25 claims/s: p99", RatioUpTo(0.2)),
        budget("at most 1/5 of upstream's", Kubernetes, "burst of 300: p90", RatioUpTo(0.2)),
        budget(
            "at least 1.6 × upstream's",
            Kubernetes,
            "claims per second with p99 under 1 s",
            RatioFrom(1.6),
        ),
        budget(
            "at most 11, and 1 more where a kubelet reports twice",
            Kubernetes,
            BESIDE_THE_POOL,
            UpTo(12.0),
        ),
        budget("at most 0.2", Kubernetes, "writes per claim: patch sandboxwarmpools/status", UpTo(0.2)),
        budget(
            "at most 1/3 of upstream's",
            Kubernetes,
            "10000 idle Sandboxes: resident memory",
            RatioUpTo(1.0 / 3.0),
        ),
    ];
    if let Some(fsync) = fsync {
        let middle = 3.0 * fsync + 3.0;
        budgets.push(budget("at most 3 fsyncs and 3 ms", Embedded, "10 claims/s: p50", UpTo(middle)));
        budgets.push(budget("at most 4 times that", Embedded, "10 claims/s: p99", UpTo(4.0 * middle)));
    }
    budgets
}

impl Budget {
    fn row(&self, scores: &Scores) -> Option<Vec<String>> {
        let ratio = scores.ratio(self.ground, &self.what);
        let (measured, holds) = match self.limit {
            Limit::RatioUpTo(limit) => (format!("{:.2}", ratio?), ratio? <= limit),
            Limit::RatioFrom(limit) => (format!("{:.2}", ratio?), ratio? >= limit),
            Limit::UpTo(limit) => {
                let value = scores.value(self.ground, Side::Ours, &self.what)?;
                (format!("{value:.2} of {limit:.2}"), value <= limit)
            }
        };
        let verdict = if holds { "holds" } else { "missed" };
        let what = format!("{} on {}: {}", self.what, self.ground.name(), self.says);
        Some(vec![what, measured, verdict.to_owned()])
    }
}

#[cfg(test)]
mod tests {
    use super::super::figure::{Figure, Unit};
    use super::*;

    fn scores(ground: Ground, what: &str, theirs: f64, ours: f64) -> Scores {
        let mut scores = Scores::default();
        scores.add(ground, Side::Theirs, Figure::new(what, Unit::Count, theirs));
        scores.add(ground, Side::Ours, Figure::new(what, Unit::Count, ours));
        scores
    }

    fn verdicts(scores: &Scores) -> Vec<(String, String)> {
        rows(scores, Some(1.0)).into_iter().map(|row| (row[1].clone(), row[2].clone())).collect()
    }

    fn verdict(measured: &str, verdict: &str) -> Vec<(String, String)> {
        vec![(measured.to_owned(), verdict.to_owned())]
    }

    #[test]
    fn a_latency_is_judged_by_theirs() {
        let with = |ours| scores(Ground::Kubernetes, "25 claims/s: p99", 100.0, ours);
        assert_eq!(verdicts(&with(20.0)), verdict("0.20", "holds"));
        assert_eq!(verdicts(&with(21.0)), verdict("0.21", "missed"));
    }

    #[test]
    fn a_rate_is_to_be_higher() {
        let with = |ours| scores(Ground::Kubernetes, "claims per second with p99 under 1 s", 40.0, ours);
        assert_eq!(verdicts(&with(64.0)), verdict("1.60", "holds"));
        assert_eq!(verdicts(&with(60.0)), verdict("1.50", "missed"));
    }

    #[test]
    fn on_the_embedded_api_the_disk_sets_the_limit() {
        let scores = scores(Ground::Embedded, "10 claims/s: p50", 9.0, 6.5);
        assert_eq!(verdicts(&scores), verdict("6.50 of 6.00", "missed"));
        assert!(rows(&scores, None).is_empty());
    }

    #[test]
    fn what_never_ended_is_missed() {
        let scores = scores(Ground::Kubernetes, BESIDE_THE_POOL, 18.0, f64::INFINITY);
        assert_eq!(verdicts(&scores)[0].1, "missed");
    }
}
