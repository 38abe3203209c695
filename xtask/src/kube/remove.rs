//! Removes a cluster and every trace of it, whatever state it is in: whole, half started, or killed.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};

use super::description::{self, Description};
use super::node::{cable, cgroups};
use super::{census, place};

/// Removing a cluster that is not there is fine: then there is nothing to do.
pub(crate) fn remove(name: &str) -> Result<()> {
    let directory = place::directory(name)?;
    census::end(&directory)?;
    if let Ok(cluster) = Description::load(&directory) {
        cable::pull(cluster.home)?;
    }
    cgroups::remove(&description::cgroup(name))?;
    delete(&directory)?;
    // A supervisor that an `up` beside this started in the meantime finds nothing to run; it must not stay either.
    census::end(&directory)?;
    let _lock = place::lock()?;
    // The last cluster takes the directory of clusters along.
    match fs::remove_dir(place::root()?) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) => {
            Err(error).context("remove the clusters' directory")
        }
        _ => Ok(()),
    }
}

fn delete(directory: &Path) -> Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", directory.display()))
        }
        _ => Ok(()),
    }
}
