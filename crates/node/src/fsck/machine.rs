//! Looks at what there is of a node on this machine. Changes nothing, and blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use asb_core::network::ruleset::NAME_SERVER;

use super::{Machine, PodOnDisk};
use crate::identity::{Identity, IdentityError};
use crate::neighbours;
use crate::network::{Kernel, Listed, NetworkError, Options};
use crate::shim::cgroups::{self, Hierarchies};
use crate::shim::cleanup;
use crate::shim::directory::{self, Directory};
use crate::shim::search;

#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error("cannot look at {}", .0.display())]
    Look(PathBuf, #[source] io::Error),
    #[error(transparent)]
    Directory(#[from] directory::Error),
    #[error(transparent)]
    Cgroups(#[from] cgroups::Error),
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// Nothing where no node has ever been.
pub fn look(root: &Path) -> Result<Machine, MachineError> {
    if !Identity::is_known(root) {
        return Ok(Machine::default());
    }
    let identity = Identity::of(root)?;
    let census = kernel(&identity)?.census()?;
    Ok(Machine {
        pods: pods(root)?,
        cgroups: groups(&identity)?,
        links: census.links.into_iter().map(|link| link.interface).collect(),
        shims: shims(root)?,
        rules: rules(census.elements),
        pins: names(&root.join("images/pins"))?.iter().filter_map(|name| pinned(name)).collect(),
        lost: neighbours::lost().into_iter().map(|entry| entry.identity.tag).collect(),
        logs: names(&root.join("logs"))?,
        volumes: names(&root.join("volumes"))?.into_iter().filter(|name| !name.starts_with('.')).collect(),
        mounts: mounts(root)?,
        prefix: identity.links(),
    })
}

/// To ask about our links; the address is for those who add some.
pub(super) fn kernel(identity: &Identity) -> Result<Kernel, NetworkError> {
    let node = Ipv4Addr::UNSPECIFIED;
    Kernel::open(Options { table: identity.table(), prefix: identity.links(), node })
}

fn pods(root: &Path) -> Result<Vec<PodOnDisk>, MachineError> {
    let folder = root.join("pods");
    let mut found = Vec::new();
    for uid in names(&folder)? {
        let directory = Directory::new(folder.join(&uid));
        let shim = cleanup::shim(&directory).map_err(|error| MachineError::Look(folder.join(&uid), error))?;
        let cgroup = directory.sandbox()?.map(|plan| plan.cgroup);
        found.push(PodOnDisk { uid, lives: shim.is_some(), cgroup });
    }
    Ok(found)
}

fn shims(root: &Path) -> Result<BTreeMap<i32, String>, MachineError> {
    search::holding(&root.join("pods")).map_err(|error| MachineError::Look("/proc".into(), error))
}

fn rules(elements: Vec<Listed>) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for element in elements.into_iter().filter(|element| is_uid(&element.remark)) {
        found.entry(element.remark).or_default().insert(element.set);
    }
    found
}

/// Others are names of Services, with their namespaces, and our name server, which policies can allow like a Pod.
fn is_uid(remark: &str) -> bool {
    !remark.is_empty() && !remark.contains('/') && remark != NAME_SERVER
}

/// The owner of a pin, by the name of its file.
fn pinned(name: &str) -> Option<String> {
    name.strip_suffix(".json").map(ToOwned::to_owned)
}

fn groups(identity: &Identity) -> Result<BTreeSet<PathBuf>, MachineError> {
    let own = PathBuf::from(identity.cgroup());
    let names = Hierarchies::discover()?.cgroup(&own).children()?;
    Ok(names.into_iter().map(|name| own.join(name)).collect())
}

fn names(folder: &Path) -> Result<BTreeSet<String>, MachineError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        other => other,
    };
    let name = |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    let names = entries.and_then(|entries| entries.map(name).collect());
    names.map_err(|error| MachineError::Look(folder.to_owned(), error))
}

fn mounts(root: &Path) -> Result<BTreeSet<PathBuf>, MachineError> {
    let list = Path::new("/proc/self/mountinfo");
    let text = fs::read_to_string(list).map_err(|error| MachineError::Look(list.to_owned(), error))?;
    Ok(below(&text, root))
}

/// What is mounted within a directory; the directory itself may well be a mount of its own.
fn below(mountinfo: &str, root: &Path) -> BTreeSet<PathBuf> {
    let places = mountinfo.lines().filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from);
    places.filter(|place| place.starts_with(root) && place != root).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_within_the_directory_are_found_and_no_others() {
        let list = "1 0 8:1 / / rw - ext4 /dev/sda rw\n\
                    2 1 8:2 / /data/node rw - ext4 /dev/sdb rw\n\
                    3 2 0:5 / /data/node/pods/u1/x rw - tmpfs tmpfs rw\n\
                    4 1 0:6 / /data/nodes rw - tmpfs tmpfs rw\n";
        assert_eq!(below(list, Path::new("/data/node")), [PathBuf::from("/data/node/pods/u1/x")].into());
    }

    #[test]
    fn rules_that_speak_of_services_and_of_the_name_server_speak_of_no_pod() {
        assert!(is_uid("0b6b1d3c-8a52-4a0f-9d7e-1f7c5a3e2b10"));
        assert!(!["", "default/kubernetes", "asb-dns"].into_iter().any(is_uid));
    }

    #[test]
    fn where_no_node_has_been_there_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(look(folder.path()).unwrap(), Machine::default());
        assert!(fs::read_dir(folder.path()).unwrap().next().is_none(), "looking changes nothing");
    }
}
