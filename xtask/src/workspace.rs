//! Where things are: the checkout, and the cache outside it that survives fresh clones.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The root of the checkout that `cargo xtask` was called in. Not the one this program was built in: checkouts may
/// share their build outputs.
pub(crate) fn root() -> PathBuf {
    let xtask =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    xtask.parent().expect("xtask is a folder of the workspace").to_owned()
}

/// This very program, also after a build has put another in its place.
pub(crate) fn this_program() -> PathBuf {
    PathBuf::from(format!("/proc/{}/exe", std::process::id()))
}

/// The cache for downloaded and built parts: `ASB_CACHE`, else `agent-sandbox` in the user's cache folder.
pub(crate) fn cache() -> Result<PathBuf> {
    if let Some(explicit) = env::var_os("ASB_CACHE") {
        return Ok(explicit.into());
    }
    let base = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))
        .context("neither ASB_CACHE, XDG_CACHE_HOME nor HOME is set, so there is no place for the cache")?;
    Ok(base.join("agent-sandbox"))
}
