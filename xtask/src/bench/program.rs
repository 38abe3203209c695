//! Programs of this workspace as they are released, built for measuring.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::workspace;

/// The product, and what claims from it: together, so that what both stand on is built once.
pub(super) fn asb_and_claims() -> Result<[PathBuf; 2]> {
    asb_and_load("claim-load")
}

/// The product, and what sends requests through its router.
pub(super) fn asb_and_proxy_load() -> Result<[PathBuf; 2]> {
    asb_and_load("proxy-load")
}

fn asb_and_load(load: &str) -> Result<[PathBuf; 2]> {
    let made = build(&["--package", "asb", "--package", "asb-load", "--bins"])?;
    let program = |name: &str| {
        let path = made.iter().find(|path| path.ends_with(name)).cloned();
        path.with_context(|| format!("cargo made no {name}"))
    };
    Ok([program("asb")?, program(load)?])
}

/// The product, and what puts load on API servers.
pub(super) fn asb_and_calls() -> Result<[PathBuf; 2]> {
    asb_and_example("asb-tests", "api_load")
}

/// The product, and what measures its node.
pub(super) fn asb_and_scenes() -> Result<[PathBuf; 2]> {
    asb_and_example("asb-client", "node_time")
}

fn asb_and_example(package: &str, example: &str) -> Result<[PathBuf; 2]> {
    let last = |what: &[&str]| build(what)?.pop().context("cargo made no program");
    Ok([last(&["--package", "asb", "--bin", "asb"])?, last(&["--package", package, "--example", example])?])
}

/// Builds programs, and asks where they went.
fn build(what: &[&str]) -> Result<Vec<PathBuf>> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--message-format", "json"]).args(what).current_dir(workspace::root());
    // What cargo tells xtask of itself would make it build again what was built without that.
    for (name, _) in env::vars_os().filter(|(name, _)| is_about_xtask(&name.to_string_lossy())) {
        cargo.env_remove(name);
    }
    let output = cargo.stderr(Stdio::inherit()).output().context("starting cargo")?;
    ensure!(output.status.success(), "`cargo build {}` failed ({})", what.join(" "), output.status);
    let said = String::from_utf8_lossy(&output.stdout);
    let messages = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).collect())
}

fn is_about_xtask(name: &str) -> bool {
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}
