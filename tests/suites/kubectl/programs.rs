//! The versions of kubectl at hand.

use std::env;
use std::path::PathBuf;

/// The one of the Kubernetes whose API we serve.
pub(crate) fn pinned() -> PathBuf {
    let pinned = env::var_os("ASB_TEST_KUBECTL");
    pinned.expect("ASB_TEST_KUBECTL names a kubectl; `cargo xtask test clients` sets it").into()
}

/// The pinned one, and the one on PATH if there is any.
pub(crate) fn all() -> Vec<PathBuf> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let installed =
        env::split_paths(&folders).map(|folder| folder.join("kubectl")).find(|path| path.is_file());
    [Some(pinned()), installed].into_iter().flatten().collect()
}
