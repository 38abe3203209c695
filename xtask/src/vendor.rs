//! `cargo xtask vendor`: takes the facts that our schemas and the embedded API server build on out of the pinned
//! Kubernetes. Only data is taken: the published definitions, and the tags of the Go structs that objects are decoded into.

mod definitions;
mod fields;
mod go;

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{command, workspace};

pub(crate) fn run() -> Result<()> {
    definitions::write_all(&module("k8s.io/kubernetes")?)?;
    fields::write()
}

/// The folder of a module at the version that the pinned Kubernetes asks for, downloaded if need be.
fn module(path: &str) -> Result<PathBuf> {
    let folder = workspace::root().join("xtask/parts/kubernetes");
    let said = command::output(&folder, "go", &["mod", "download", "-json", path])?;
    let answer: Value = serde_json::from_str(&said).context("reading what go says of the module")?;
    Ok(answer["Dir"].as_str().with_context(|| format!("go did not say where {path} is"))?.into())
}
