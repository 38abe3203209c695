//! The Agent Sandbox of a data directory as other processes of this machine see it: whether it runs, how it is started in
//! the background, and how it is told to end.

mod lock;
mod log;
mod start;
mod stop;

use std::path::{Path, PathBuf};

pub(crate) use lock::{Lock, holder};
pub(crate) use log::path as log_path;
pub(crate) use start::{Start, ensure, start};
pub(crate) use stop::stop;

/// Where the node keeps what is its own.
pub(crate) fn node_root(data_dir: &Path) -> PathBuf {
    data_dir.join("node")
}
