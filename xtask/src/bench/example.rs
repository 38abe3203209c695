//! What a crate measures of itself: an example program of its own that prints rows, what and how much by tab.

use anyhow::Result;

use super::Row;
use crate::{command, terminal, workspace};

pub(super) fn measure(package: &str, example: &str, arguments: &[&str]) -> Result<Vec<Row>> {
    let program = ["run", "--quiet", "--release", "--package", package, "--example", example, "--"];
    let run = || command::output(&workspace::root(), "cargo", &[&program[..], arguments].concat());
    let printed = terminal::step(&format!("measure {example} of {package}"), run)?;
    Ok(printed
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(what, value)| Row::new(what, value))
        .collect())
}
