//! How often an operator looked at objects, and how long that took, by its own count.

use std::collections::BTreeMap;

use super::exposition::samples;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Looks {
    /// By the name of the controller.
    pub(super) counts: BTreeMap<String, f64>,
    /// Of Sandboxes: how many took at most so many seconds, ascending.
    times: Vec<(f64, f64)>,
}

impl Looks {
    pub(super) fn read(exposition: &str) -> Self {
        let mut looks = Self::default();
        for (mut labels, count) in samples(exposition, "controller_runtime_reconcile_total") {
            let controller = labels.remove("controller").unwrap_or_default();
            *looks.counts.entry(controller).or_default() += count;
        }
        let buckets = samples(exposition, "controller_runtime_reconcile_time_seconds_bucket");
        let of_sandboxes =
            buckets.filter(|(labels, _)| labels.get("controller").is_some_and(|name| name == "sandbox"));
        looks.times =
            of_sandboxes.filter_map(|(labels, count)| Some((bound(labels.get("le")?)?, count))).collect();
        looks.times.sort_by(|one, other| one.0.total_cmp(&other.0));
        looks
    }

    pub(super) fn since(&self, before: &Self) -> Self {
        let earlier = |name| before.counts.get(name).copied().unwrap_or_default();
        let counts = self.counts.iter().map(|(name, count)| (name.clone(), count - earlier(name)));
        let earlier =
            |bound: f64| before.times.iter().find(|it| it.0.total_cmp(&bound).is_eq()).map_or(0.0, |it| it.1);
        let times = self.times.iter().map(|(bound, count)| (*bound, count - earlier(*bound)));
        Self { counts: counts.collect(), times: times.collect() }
    }

    /// Milliseconds that half of the looks at Sandboxes took at most, as near as the buckets tell.
    pub(super) fn median(&self) -> Option<f64> {
        let half = self.times.last().map(|last| last.1 / 2.0).filter(|half| *half > 0.0)?;
        let at = self.times.iter().position(|(_, count)| *count >= half)?;
        let (low, below) = if at == 0 { (0.0, 0.0) } else { self.times[at - 1] };
        let (high, count) = self.times[at];
        let high = if high.is_finite() { high } else { low };
        Some((low + (high - low) * (half - below) / (count - below)) * 1000.0)
    }
}

fn bound(text: &str) -> Option<f64> {
    if text == "+Inf" { Some(f64::INFINITY) } else { text.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exposition(success: u32, fast: u32, all: u32) -> String {
        let time = "controller_runtime_reconcile_time_seconds_bucket{controller=\"sandbox\",le=";
        format!(
            "controller_runtime_reconcile_total{{controller=\"sandbox\",result=\"success\"}} {success}\n\
             controller_runtime_reconcile_total{{controller=\"sandbox\",result=\"error\"}} 1\n\
             {time}\"+Inf\"}} {all}\n{time}\"0.005\"}} {fast}\n{time}\"0.01\"}} {all}\n"
        )
    }

    #[test]
    fn looks_are_counted_whatever_came_of_them() {
        let looks = Looks::read(&exposition(5, 0, 0)).since(&Looks::read(&exposition(2, 0, 0)));
        assert_eq!(looks.counts, [("sandbox".to_owned(), 3.0)].into());
    }

    #[test]
    fn the_middle_is_told_as_near_as_the_buckets_allow() {
        let (before, after) = (Looks::read(&exposition(0, 50, 50)), Looks::read(&exposition(0, 90, 150)));
        // 40 took up to 5 ms and 60 up to 10: the fiftieth is a sixth of the way.
        let median = after.since(&before).median().expect("there were some");
        assert!((median - 5.833).abs() < 0.001, "{median}");
    }

    #[test]
    fn without_looks_there_is_no_middle() {
        assert_eq!(Looks::read("").median(), None);
        assert_eq!(Looks::read(&exposition(1, 0, 0)).median(), None);
    }
}
