//! Everything that was measured, by what it is and who it is of, in several rounds.

use super::load::Sample;

/// In whose column a number stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Whom ours is compared with.
    Theirs,
    Ours,
    /// Without anybody between.
    Direct,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    PerSecond,
    /// Kept in microseconds.
    Milliseconds,
    Seconds,
    MebibytesPerSecond,
    Mebibytes,
}

impl Unit {
    fn written(self, value: f64) -> String {
        match self {
            Self::PerSecond => format!("{value:.0}"),
            Self::Milliseconds => format!("{:.2} ms", value / 1000.0),
            Self::Seconds => format!("{value:.2} s"),
            Self::MebibytesPerSecond => format!("{value:.0} MiB/s"),
            Self::Mebibytes => format!("{value:.2} MiB"),
        }
    }
}

#[derive(Default)]
pub(super) struct Figures(Vec<Entry>);

struct Entry {
    what: String,
    unit: Unit,
    values: Vec<(Side, f64)>,
}

impl Figures {
    pub(super) fn add(&mut self, what: impl Into<String>, unit: Unit, side: Side, value: f64) {
        let what = what.into();
        match self.0.iter_mut().find(|entry| entry.what == what) {
            Some(entry) => entry.values.push((side, value)),
            None => self.0.push(Entry { what, unit, values: vec![(side, value)] }),
        }
    }

    /// How many of something there were, and how long each took.
    pub(super) fn add_times(&mut self, what: &str, side: Side, sample: &Sample) {
        self.add(format!("{what}: per second"), Unit::PerSecond, side, sample.per_second);
        self.add(format!("{what}: p50"), Unit::Milliseconds, side, sample.median);
        self.add(format!("{what}: p99"), Unit::Milliseconds, side, sample.high);
    }

    /// The middle one of the rounds.
    pub(super) fn value(&self, what: &str, side: Side) -> Option<f64> {
        self.0.iter().find(|entry| entry.what == what)?.median(side)
    }

    /// How many there are so far.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// From this figure on: what, and what is said of it in each of these columns.
    pub(super) fn rows(&self, from: usize, columns: &[Column]) -> Vec<Vec<String>> {
        let row = |entry: &Entry| {
            let words = columns.iter().map(|column| entry.word(*column));
            std::iter::once(entry.what.clone()).chain(words).collect()
        };
        self.0[from..].iter().map(row).collect()
    }
}

#[derive(Clone, Copy)]
pub(super) enum Column {
    Of(Side),
    /// Ours by theirs.
    Ratio,
}

impl Entry {
    fn median(&self, side: Side) -> Option<f64> {
        let mut values: Vec<f64> = self.values.iter().filter(|it| it.0 == side).map(|it| it.1).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    }

    fn word(&self, column: Column) -> String {
        match column {
            Column::Of(side) => self.median(side).map(|value| self.unit.written(value)),
            Column::Ratio => self.ratio().map(|ratio| format!("{ratio:.2}")),
        }
        .unwrap_or_default()
    }

    fn ratio(&self) -> Option<f64> {
        let ratio = self.median(Side::Ours)? / self.median(Side::Theirs)?;
        ratio.is_finite().then_some(ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_rounds_stand_beside_each_other() {
        let mut figures = Figures::default();
        for (side, value) in
            [(Side::Theirs, 100.0), (Side::Ours, 90.0), (Side::Ours, 10.0), (Side::Ours, 80.0)]
        {
            figures.add("a", Unit::PerSecond, side, value);
        }
        figures.add("b", Unit::Milliseconds, Side::Ours, 1500.0);
        let columns = [Column::Of(Side::Theirs), Column::Of(Side::Ours), Column::Ratio];
        let rows = figures.rows(0, &columns);
        assert_eq!(rows, [["a", "100", "80", "0.80"], ["b", "", "1.50 ms", ""]]);
        assert_eq!(figures.rows(1, &columns).len(), 1);
    }
}
