//! Where a local Agent Sandbox keeps what is its own.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};

/// The one argument that every command about the local machine takes.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Place {
    /// Where objects, keys and the kubeconfig are kept [default: /var/lib/asb for root, otherwise
    /// $XDG_STATE_HOME/asb or ~/.local/state/asb]
    #[arg(long, value_name = "DIR", env = "ASB_DATA_DIR", hide_env_values = true)]
    data_dir: Option<PathBuf>,
}

impl Place {
    /// Where a command was told to look, or where the environment says.
    pub(crate) fn named(data_dir: Option<PathBuf>) -> Self {
        let set = || env::var_os("ASB_DATA_DIR").filter(|value| !value.is_empty()).map(PathBuf::from);
        Self { data_dir: data_dir.or_else(set) }
    }

    pub(crate) fn directory(&self) -> Result<PathBuf> {
        match &self.data_dir {
            Some(directory) => {
                std::path::absolute(directory).context("cannot tell where the data directory is")
            }
            None => default_directory(),
        }
    }

    pub(crate) fn kubeconfig(&self) -> Result<PathBuf> {
        Ok(self.directory()?.join("kubeconfig"))
    }
}

fn default_directory() -> Result<PathBuf> {
    if is_root() {
        return Ok(PathBuf::from("/var/lib/asb"));
    }
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")));
    Ok(state.context("neither XDG_STATE_HOME nor HOME is set; name a place with --data-dir")?.join("asb"))
}

/// Who owns the files that this process makes.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}
