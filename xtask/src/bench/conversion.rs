//! How long converting an object takes, as the example program of `crates/types` measures it.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Row;
use crate::{terminal, workspace};

pub(super) fn measure() -> Result<Vec<Row>> {
    let arguments = ["run", "--quiet", "--release", "--package", "asb-types", "--example", "conversion_time"];
    let printed = terminal::step("measure conversion", || {
        let output = Command::new("cargo")
            .args(arguments)
            .current_dir(workspace::root())
            .output()
            .context("starting cargo")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim_end());
        String::from_utf8(output.stdout).context("reading what it printed")
    })?;
    Ok(printed
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(what, value)| Row::new(what, value))
        .collect())
}
