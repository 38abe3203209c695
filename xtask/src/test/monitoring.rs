//! The alerting rules, as Prometheus reads them: they are well-formed, and alert when they are meant to.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::parts::debian;
use crate::workspace;

pub(super) fn promtool() -> Result<PathBuf> {
    Ok(debian::PROMTOOL.obtain()?.join("usr/bin/promtool"))
}

pub(super) fn run() -> Result<()> {
    promtool_says(&["check", "rules", "deploy/monitoring/rules.yaml"])?;
    promtool_says(&["test", "rules", "tests/monitoring/alerts.yaml"])
}

fn promtool_says(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(promtool()?);
    let status = command.current_dir(workspace::root()).args(arguments).status().context("start promtool")?;
    ensure!(status.success(), "promtool {} failed ({status})", arguments.join(" "));
    Ok(())
}
