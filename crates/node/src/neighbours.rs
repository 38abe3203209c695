//! The nodes of this machine, each in a file of its own until the machine is started again: so that what one left, whose data
//! directory is no more, is not left for ever.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use crate::halt::{self, HaltError};
use crate::identity::Identity;
use crate::shim::search;

const FOLDER: &str = "/run/agent-sandbox";

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    pub root: PathBuf,
    pub identity: Identity,
}

/// Writes down that a node is here. Blocks.
pub fn enter(root: &Path, identity: &Identity) -> io::Result<()> {
    enter_in(Path::new(FOLDER), root, identity)
}

/// Nothing of the node is on the machine any more but files. Blocks.
pub fn leave(identity: &Identity) -> io::Result<()> {
    leave_in(Path::new(FOLDER), identity)
}

/// Whether the range of a node has come to be another's, as it may while the one does not run. Blocks.
pub fn has_another(identity: &Identity) -> bool {
    has_another_in(Path::new(FOLDER), identity)
}

/// Clears away what nodes left whose data directories are gone, with all that could tell what they had. What cannot be cleared
/// is told and left.
pub async fn clear_the_lost() {
    for entry in lost() {
        let tag = &entry.identity.tag;
        match clear(&entry).await {
            Ok(()) => tracing::info!(tag, "cleared away what a node left whose directory is gone"),
            Err(error) => tracing::warn!(tag, %error, "cannot clear away what a node left"),
        }
    }
}

/// Those whose directories do not know them any more. Blocks.
pub fn lost() -> Vec<Entry> {
    lost_in(Path::new(FOLDER))
}

/// Clears away all that such a node left. Those who held its Pods are in none of its cgroups.
pub async fn clear(entry: &Entry) -> Result<(), HaltError> {
    let pods = entry.root.join("pods");
    let shims = spawn_blocking(move || search::holding(&pods)?.into_keys().try_for_each(search::end));
    shims.await?.map_err(HaltError::Shims)?;
    halt::clear_all_of(entry.identity.clone()).await
}

fn enter_in(folder: &Path, root: &Path, identity: &Identity) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let entry = Entry { root: root.to_owned(), identity: identity.clone() };
    let beside = folder.join(format!(".{}", identity.tag));
    fs::write(&beside, serde_json::to_vec(&entry)?)?;
    fs::rename(&beside, folder.join(&identity.tag))
}

/// Also with what somebody who was entering it came to.
fn leave_in(folder: &Path, identity: &Identity) -> io::Result<()> {
    unless_missing(fs::remove_file(folder.join(format!(".{}", identity.tag))))?;
    unless_missing(fs::remove_file(folder.join(&identity.tag)))
}

fn entries(folder: &Path) -> impl Iterator<Item = Entry> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let whole = files.filter(|file| !file.file_name().to_string_lossy().starts_with('.'));
    whole.filter_map(|file| serde_json::from_slice(&fs::read(file.path()).ok()?).ok())
}

fn lost_in(folder: &Path) -> Vec<Entry> {
    entries(folder).filter(|entry| !Identity::is_known(&entry.root)).collect()
}

fn has_another_in(folder: &Path, identity: &Identity) -> bool {
    let Some(own) = identity.pods else { return false };
    let others = entries(folder).filter(|entry| entry.identity.tag != identity.tag);
    others.filter_map(|entry| entry.identity.pods).any(|range| range.overlaps(own))
}

pub(crate) fn unless_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_lost_with_its_directory() {
        let (folder, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let identity = Identity::of(root.path()).unwrap();
        enter_in(folder.path(), root.path(), &identity).unwrap();
        assert_eq!(lost_in(folder.path()), []);
        let gone = Entry { root: root.path().to_owned(), identity };
        drop(root);
        assert_eq!(lost_in(folder.path()), [gone]);
    }

    #[test]
    fn an_entry_that_was_never_finished_is_none_and_goes_with_the_node() {
        let (folder, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let identity = Identity::of(root.path()).unwrap();
        enter_in(folder.path(), root.path(), &identity).unwrap();
        let unfinished = folder.path().join(format!(".{}", identity.tag));
        fs::rename(folder.path().join(&identity.tag), &unfinished).unwrap();
        drop(root);
        assert_eq!(lost_in(folder.path()), []);
        leave_in(folder.path(), &identity).unwrap();
        assert!(!unfinished.exists());
    }

    #[test]
    fn a_range_is_one_nodes_at_a_time() {
        let (folder, range) = (tempfile::tempdir().unwrap(), Some("10.1.0.0/16".parse().unwrap()));
        let [one, other] = ["aaaa", "bbbb"].map(|tag| Identity { tag: tag.to_owned(), pods: range });
        enter_in(folder.path(), Path::new("/nowhere"), &one).unwrap();
        assert!(!has_another_in(folder.path(), &one));
        assert!(has_another_in(folder.path(), &other));
    }
}
