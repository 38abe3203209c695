//! Starts a described cluster's supervisor, detached from this process and its terminal.

use std::env;
use std::fs::{self, File};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::census;
use super::description::Description;

pub(crate) fn launch(cluster: &Description) -> Result<()> {
    fs::create_dir_all(cluster.directory.join("logs")).context("create the logs' directory")?;
    fs::create_dir_all(cluster.directory.join("tmp")).context("create the cluster's /tmp")?;
    supervisor(cluster)?.spawn().context("start the supervisor with setsid (package util-linux)")?;
    Ok(())
}

fn supervisor(cluster: &Description) -> Result<Command> {
    let log = File::create(cluster.directory.join("logs/supervisor.log"))?;
    let mut command = Command::new("setsid");
    command
        .arg(env::current_exe().context("find this program")?)
        .args(["kube", "supervise"])
        .arg(&cluster.directory)
        .env(census::MARK, &cluster.directory)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .current_dir("/");
    Ok(command)
}
