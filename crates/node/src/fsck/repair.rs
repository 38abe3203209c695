//! Removes what belongs to nobody. Each removal can be repeated. Volumes stay: what is in them may be all that somebody has.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::{UnmountFlags, unmount};

use super::Stray;
use super::machine::kernel;
use crate::halt::HaltError;
use crate::identity::{Identity, IdentityError};
use crate::neighbours::{self, unless_missing};
use crate::network::NetworkError;
use crate::shim::cgroups::{self, Hierarchies};
use crate::shim::cleanup;
use crate::shim::directory::Directory;
use crate::shim::search;
use crate::volumes::removal;

#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Pod(#[from] cleanup::Error),
    #[error(transparent)]
    Cgroup(#[from] cgroups::Error),
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error("cannot remove {}", .0.display())]
    Remove(PathBuf, #[source] io::Error),
    #[error("cannot end process {0}")]
    End(i32, #[source] io::Error),
    #[error(transparent)]
    Node(#[from] HaltError),
    #[error("cannot begin to clear away what a node left")]
    Runtime(#[source] io::Error),
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repaired {
    Removed,
    /// Only somebody who knows what is in it can tell.
    Left,
}

/// Blocks.
pub fn remove(root: &Path, stray: &Stray) -> Result<Repaired, RepairError> {
    match stray {
        Stray::Pod { uid, .. } => cleanup::remove(&Directory::new(root.join("pods").join(uid)))?,
        Stray::Cgroup { path } => {
            let cgroup = Hierarchies::discover()?.cgroup(path);
            cgroup.kill()?;
            cgroup.remove()?;
        }
        Stray::Link { interface } => kernel(&Identity::of(root)?)?.remove_link(interface)?,
        Stray::Mount { path } => {
            unmount(path, UnmountFlags::DETACH)
                .map_err(|error| RepairError::Remove(path.clone(), error.into()))?;
        }
        Stray::Logs { name } => {
            let path = root.join("logs").join(name);
            removal::clear(&path).map_err(|error| RepairError::Remove(path, error))?;
        }
        Stray::Process { pid, .. } => {
            search::end(*pid).map_err(|error| RepairError::End(*pid, error))?;
        }
        Stray::Rules { uid } => kernel(&Identity::of(root)?)?.remove_elements(uid)?,
        Stray::Pin { owner } => {
            let path = root.join("images/pins").join(format!("{owner}.json"));
            unless_missing(fs::remove_file(&path)).map_err(|error| RepairError::Remove(path, error))?;
        }
        Stray::Node { tag } => clear(tag)?,
        Stray::Volume { .. } => return Ok(Repaired::Left),
    }
    Ok(Repaired::Removed)
}

fn clear(tag: &str) -> Result<(), RepairError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(RepairError::Runtime)?;
    let lost = neighbours::lost().into_iter().filter(|entry| entry.identity.tag == tag);
    lost.into_iter().try_for_each(|entry| Ok(runtime.block_on(neighbours::clear(&entry))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_and_directories_go_and_volumes_stay() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["logs/a_b_u1/main", "pods/u1/volumes/x", "volumes/pv-1/data", "images/pins"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let pin = root.path().join("images/pins/u1.main.json");
        fs::write(&pin, "{}").unwrap();
        let removed = |stray: Stray| remove(root.path(), &stray).unwrap();
        assert_eq!(removed(Stray::Logs { name: "a_b_u1".to_owned() }), Repaired::Removed);
        assert_eq!(removed(Stray::Pod { uid: "u1".to_owned(), lives: false }), Repaired::Removed);
        for _ in 0..2 {
            assert_eq!(removed(Stray::Pin { owner: "u1.main".to_owned() }), Repaired::Removed);
        }
        assert!(!pin.exists());
        assert_eq!(removed(Stray::Volume { name: "pv-1".to_owned() }), Repaired::Left);
        let left: Vec<_> = ["logs/a_b_u1", "pods/u1", "volumes/pv-1/data"]
            .map(|name| root.path().join(name).exists())
            .into();
        assert_eq!(left, [false, false, true]);
    }
}
