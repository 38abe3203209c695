//! One group per hierarchy under which all Pods of a cluster live, so that removing it is exact.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::kube::description::Description;

pub(crate) fn create(cluster: &Description) -> Result<()> {
    for hierarchy in hierarchies()? {
        let group = hierarchy.join(cluster.cgroup());
        fs::create_dir_all(&group).with_context(|| format!("create {}", group.display()))?;
    }
    Ok(())
}

/// Waits a little for the kernel to finish with processes that were just killed.
pub(crate) fn remove(name: &str) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(10);
    for hierarchy in hierarchies()? {
        let group = hierarchy.join(name);
        while let Err(error) = prune(&group) {
            if Instant::now() > deadline {
                return Err(error).with_context(|| format!("remove {}", group.display()));
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
    Ok(())
}

/// Groups are removed leaves first; their files are not files to delete.
fn prune(group: &Path) -> std::io::Result<()> {
    let entries = match fs::read_dir(group) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            prune(&entry.path())?;
        }
    }
    fs::remove_dir(group)
}

fn hierarchies() -> Result<Vec<PathBuf>> {
    let mounts = fs::read_to_string("/proc/self/mounts").context("list mounts")?;
    Ok(in_mounts(&mounts))
}

fn in_mounts(mounts: &str) -> Vec<PathBuf> {
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    fields
        .filter_map(|fields| match fields[..] {
            [_, place, "cgroup" | "cgroup2", ..] => Some(place.into()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hierarchy_is_found_old_or_new() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
                      cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(in_mounts(mounts), [Path::new("/sys/fs/cgroup/cpu"), Path::new("/sys/fs/cgroup/unified")]);
    }
}
