//! How long converting an object takes, as the example program of `crates/types` measures it.

use anyhow::Result;

use super::Row;
use crate::{command, terminal, workspace};

pub(super) fn measure() -> Result<Vec<Row>> {
    let arguments = ["run", "--quiet", "--release", "--package", "asb-types", "--example", "conversion_time"];
    let run = || command::output(&workspace::root(), "cargo", &arguments);
    let printed = terminal::step("measure conversion", run)?;
    Ok(printed
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(what, value)| Row::new(what, value))
        .collect())
}
