//! Where things are: the checkout, and the cache outside it that survives fresh clones.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The root of the checkout that `cargo xtask` was called in. Not the one this program was built in: checkouts may
/// share their build outputs.
pub(crate) fn root() -> PathBuf {
    let xtask =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    xtask.parent().expect("xtask is a folder of the workspace").to_owned()
}

/// This very program. After a build has put another in its place, a copy that this process keeps.
pub(crate) fn this_program() -> Result<PathBuf> {
    let path = env::current_exe().context("finding this program")?;
    if path.exists() {
        return Ok(path);
    }
    let copy = env::temp_dir().join(format!("xtask-{}", std::process::id()));
    if !copy.exists() {
        fs::copy("/proc/self/exe", &copy)
            .with_context(|| format!("copying this program to {}", copy.display()))?;
    }
    Ok(copy)
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
