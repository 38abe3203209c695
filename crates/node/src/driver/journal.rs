//! What a keeper knows of its Pod, on disk: enough to go on after a crash. Not made to outlast a power cut, which ends all
//! that it speaks of.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use asb_core::pod::observed::Observed;
use serde::{Deserialize, Serialize};

use crate::shim::plan::IdRange;

const FILE: &str = "keeper.json";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Journal {
    pub namespace: String,
    pub name: String,
    pub observed: Observed,
    pub ids: Option<IdRange>,
    pub address: Option<Ipv4Addr>,
}

impl Journal {
    /// Of the Pod in a directory; nothing where none was begun, or where it does not read as one any more.
    pub fn read(directory: &Path) -> io::Result<Option<Self>> {
        match fs::read(directory.join(FILE)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whole or not at all.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        let beside = directory.join("keeper.new");
        let bytes = serde_json::to_vec(self)?;
        match fs::write(&beside, &bytes) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make(directory)?;
                fs::write(&beside, &bytes)?;
            }
            other => other?,
        }
        fs::rename(&beside, directory.join(FILE))
    }
}

/// Closed to everyone but root, as volumes in it need it.
fn make(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// The directories of Pods that there are, by UID.
pub(super) fn directories(root: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    match fs::read_dir(root.join("pods")) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?
            .map(|entry| entry.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())))
            .collect(),
    }
}
