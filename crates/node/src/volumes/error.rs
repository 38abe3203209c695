//! What can go wrong with a volume.

use std::io;
use std::path::{Path, PathBuf};

use super::names::Refused;
use super::tree::DEEPEST;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {action} {path}")]
    Step { action: &'static str, path: PathBuf, source: io::Error },
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("{0} has directories more than {deepest} deep", deepest = DEEPEST)]
    TooDeep(PathBuf),
    #[error("{path} leads out of the volume")]
    Escape { path: PathBuf },
    #[error("hostPath type check failed: {path} is not a {expected}")]
    HostPath { path: PathBuf, expected: String },
    #[error("the volume {name} is there already, for {owner}")]
    Taken { name: String, owner: String },
}

pub(super) fn failed(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Error {
    move |source| Error::Step { action, path: path.to_owned(), source }
}
