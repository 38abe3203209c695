//! Gives a volume to the group of a Pod.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Gid, Mode, RawMode, chmod, chownat};

use super::error::{Error, failed};
use super::tree::{self, Node};

/// What the group may do at least.
const FILE: RawMode = 0o660;
const DIRECTORY: RawMode = 0o2770;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    #[default]
    Always,
    /// Not where the volume's own directory shows that it was done.
    OnRootMismatch,
}

impl Policy {
    /// As a Pod writes it.
    pub fn read(text: Option<&str>) -> Self {
        if text == Some("OnRootMismatch") { Self::OnRootMismatch } else { Self::Always }
    }
}

/// Hands everything in a volume to a group, which may then read and write all of it. The group is as the container sees it.
pub fn apply(volume: &Path, group: u32, policy: Policy) -> Result<(), Error> {
    if policy == Policy::OnRootMismatch && is_done(volume, group)? {
        return Ok(());
    }
    tree::walk(volume, "change the group of", &mut |node| give(node, group))
}

fn is_done(volume: &Path, group: u32) -> Result<bool, Error> {
    let metadata = fs::symlink_metadata(volume).map_err(failed("look at", volume))?;
    Ok(metadata.gid() == group && metadata.mode() & DIRECTORY == DIRECTORY)
}

fn give(node: &Node<'_>, group: u32) -> std::io::Result<()> {
    chownat(node.handle, "", None, Some(Gid::from_raw(group)), AtFlags::EMPTY_PATH)?;
    let least = match node.kind() {
        FileType::Directory => DIRECTORY,
        // They have no mode of their own.
        FileType::Symlink => return Ok(()),
        _ => FILE,
    };
    Ok(chmod(node.path(), Mode::from_raw_mode((node.stat.st_mode & 0o7777) | least))?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn seen(path: &Path) -> (u32, u32) {
        let metadata = fs::symlink_metadata(path).unwrap();
        (metadata.gid(), metadata.mode() & 0o7777)
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn everything_belongs_to_the_group_and_is_its_to_change() {
        let folder = tempfile::tempdir().unwrap();
        let (below, file) = (folder.path().join("a/b"), folder.path().join("a/b/f"));
        fs::create_dir_all(&below).unwrap();
        fs::write(&file, "").unwrap();
        set_mode(&file, 0o700);
        set_mode(&below, 0o700);
        set_mode(folder.path(), 0o700);
        apply(folder.path(), 3000, Policy::Always).unwrap();
        assert_eq!((seen(&file), seen(&below)), ((3000, 0o760), (3000, 0o2770)));
        assert_eq!(seen(folder.path()), (3000, 0o2770));
    }

    #[test]
    fn links_of_a_hostile_container_change_nothing_outside() {
        let (outside, volume) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let secret = outside.path().join("secret");
        fs::write(&secret, "").unwrap();
        set_mode(&secret, 0o600);
        let before = (seen(outside.path()), seen(&secret));
        symlink(&secret, volume.path().join("file")).unwrap();
        symlink(outside.path(), volume.path().join("directory")).unwrap();
        symlink("/etc/passwd", volume.path().join("passwd")).unwrap();
        apply(volume.path(), 3000, Policy::Always).unwrap();
        assert_eq!((seen(outside.path()), seen(&secret)), before);
        assert_eq!(seen(&volume.path().join("file")).0, 3000);
    }

    #[test]
    fn a_volume_that_is_itself_a_link_is_refused() {
        let (outside, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        symlink(outside.path(), place.path().join("v")).unwrap();
        assert!(apply(&place.path().join("v"), 3000, Policy::Always).is_err());
        assert_ne!(seen(outside.path()).0, 3000);
    }

    #[test]
    fn a_volume_that_was_done_is_left_alone_if_the_pod_says_so() {
        let volume = tempfile::tempdir().unwrap();
        apply(volume.path(), 3000, Policy::Always).unwrap();
        let file = volume.path().join("f");
        fs::write(&file, "").unwrap();
        set_mode(&file, 0o600);
        apply(volume.path(), 3000, Policy::OnRootMismatch).unwrap();
        assert_eq!(seen(&file).1, 0o600);
        apply(volume.path(), 3001, Policy::OnRootMismatch).unwrap();
        assert_eq!(seen(&file), (3001, 0o660));
    }

    #[test]
    fn a_tree_without_end_is_an_error_and_not_a_crash() {
        let volume = tempfile::tempdir().unwrap();
        let deep: std::path::PathBuf = std::iter::repeat_n("d", tree::DEEPEST + 2).collect();
        fs::create_dir_all(volume.path().join(deep)).unwrap();
        assert!(matches!(apply(volume.path(), 3000, Policy::Always), Err(Error::TooDeep(_))));
    }
}
