//! The program that puts load on servers, and what it measured in several rounds.

use std::path::Path;

use anyhow::{Context, Result};

use crate::{command, workspace};

/// What is said of calls of one sort.
#[derive(Clone, Copy)]
pub(super) enum Figure {
    PerSecond,
    Median,
    High,
}

impl Figure {
    pub(super) const ALL: [Self; 3] = [Self::PerSecond, Self::Median, Self::High];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::PerSecond => "per second",
            Self::Median => "p50",
            Self::High => "p99",
        }
    }

    pub(super) fn written(self, value: f64) -> String {
        match self {
            Self::PerSecond => format!("{value:.0}"),
            Self::Median | Self::High => format!("{:.2} ms", value / 1000.0),
        }
    }
}

/// Lines of the program, of all rounds.
#[derive(Default)]
pub(super) struct Measurements(Vec<(String, [f64; 3])>);

impl Measurements {
    pub(super) fn add(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// In the order in which they were measured.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let first =
            |(place, (name, _)): &(usize, &(String, _))| self.0[..*place].iter().all(|it| it.0 != *name);
        self.0.iter().enumerate().filter(first).map(|(_, (name, _))| name.as_str())
    }

    /// The middle one of the rounds.
    pub(super) fn median(&self, what: &str, figure: Figure) -> Option<f64> {
        let mut values: Vec<f64> =
            self.0.iter().filter(|it| it.0 == what).map(|it| it.1[figure as usize]).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    }
}

pub(super) fn run(program: &Path, way: &str, place: &Path, parts: &[&str]) -> Result<Measurements> {
    let (program, place) = (program.display().to_string(), place.display().to_string());
    let said = command::output(&workspace::root(), &program, &[&[way, &place], parts].concat())?;
    said.lines().map(parse).collect::<Result<_>>().map(Measurements)
}

fn parse(line: &str) -> Result<(String, [f64; 3])> {
    let mut columns = line.split('\t');
    let what = columns.next().unwrap_or_default().to_owned();
    let numbers: Vec<f64> =
        columns.map(str::parse).collect::<Result<_, _>>().context("a line of the load")?;
    let numbers = numbers.try_into().ok().with_context(|| format!("{what} has not three numbers"))?;
    Ok((what, numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_rounds_the_middle_one_counts() {
        let lines = ["get\t10\t1\t9", "list\t1\t1\t1", "get\t30\t3\t7", "get\t20\t2\t8"];
        let rounds = Measurements(lines.iter().map(|line| parse(line).expect("a line")).collect());
        assert_eq!(rounds.median("get", Figure::PerSecond), Some(20.0));
        assert_eq!(rounds.median("get", Figure::High), Some(8.0));
        assert_eq!(rounds.median("put", Figure::High), None);
        assert_eq!(rounds.names().collect::<Vec<_>>(), ["get", "list"]);
    }
}
