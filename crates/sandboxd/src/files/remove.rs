//! Removes files and trees. A link is removed, not what it leads to.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;

use super::path::{self, Inside};
use super::root::Root;
use super::walk::{Follow, Missing};

/// Each level holds a descriptor.
const DEEPEST: usize = 256;
/// How many names are read before they are removed.
const BATCH: usize = 1024;

/// Directories that are not empty take `recursive`. The root is emptied at most.
pub(crate) fn remove(root: &Root, inside: &Inside, recursive: bool) -> Result<(), Errno> {
    let place = root.place(inside, Follow::Parents, Missing::Fails)?;
    let Some(name) = place.name.as_deref() else {
        return if recursive {
            clear(place.open(OFlags::RDONLY | OFlags::DIRECTORY)?, 0)
        } else {
            Err(Errno::NOTEMPTY)
        };
    };
    match unlinkat(&place.directory, name, AtFlags::empty()) {
        Err(Errno::ISDIR) if recursive => remove_tree(&place.directory, name, 0),
        Err(Errno::ISDIR) => unlinkat(&place.directory, name, AtFlags::REMOVEDIR),
        other => other,
    }
}

fn remove_tree(directory: impl AsFd, name: &OsStr, depth: usize) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    clear(openat(directory.as_fd(), name, flags, Mode::empty())?, depth + 1)?;
    unlinkat(directory, name, AtFlags::REMOVEDIR)
}

fn clear(directory: OwnedFd, depth: usize) -> Result<(), Errno> {
    if depth > DEEPEST {
        return Err(Errno::NAMETOOLONG);
    }
    loop {
        let names = some_names(&directory)?;
        if names.is_empty() {
            return Ok(());
        }
        for name in names {
            match unlinkat(&directory, &name, AtFlags::empty()) {
                Err(Errno::ISDIR) => remove_tree(&directory, &name, depth)?,
                // Somebody else was faster.
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn some_names(directory: &OwnedFd) -> Result<Vec<OsString>, Errno> {
    let entries = Dir::read_from(directory)?;
    let names = entries.map(|entry| entry.map(|entry| path::name(entry.file_name().to_bytes())));
    let real = names.filter(|name| !name.as_ref().is_ok_and(|name| name == "." || name == ".."));
    real.take(BATCH).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn home() -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("root/a/b")).unwrap();
        fs::write(directory.path().join("root/a/b/file"), "").unwrap();
        fs::create_dir(directory.path().join("outside")).unwrap();
        fs::write(directory.path().join("outside/kept"), "").unwrap();
        symlink("../../outside", directory.path().join("root/a/link")).unwrap();
        let root = Root::open(&directory.path().join("root")).unwrap();
        (directory, root)
    }

    fn removed(root: &Root, path: &str, recursive: bool) -> Result<(), Errno> {
        remove(root, &Inside::parse(path.as_bytes()).unwrap(), recursive)
    }

    #[test]
    fn a_tree_goes_with_its_links_but_not_what_they_lead_to() {
        let (directory, root) = home();
        assert_eq!(removed(&root, "a", false), Err(Errno::NOTEMPTY));
        assert_eq!(removed(&root, "a", true), Ok(()));
        assert!(!root.path().join("a").exists());
        assert!(directory.path().join("outside/kept").exists());
        assert_eq!(removed(&root, "a", true), Err(Errno::NOENT));
    }

    #[test]
    fn a_link_is_removed_itself_and_nothing_behind_one_that_leads_out() {
        let (directory, root) = home();
        assert_eq!(removed(&root, "a/link/kept", false), Err(Errno::XDEV));
        assert_eq!(removed(&root, "a/link", true), Ok(()));
        assert!(directory.path().join("outside/kept").exists());
    }

    #[test]
    fn the_root_is_emptied_and_stays() {
        let (_directory, root) = home();
        assert_eq!(removed(&root, "", false), Err(Errno::NOTEMPTY));
        assert_eq!(removed(&root, "", true), Ok(()));
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_empty_directory_needs_no_more_words() {
        let (_directory, root) = home();
        removed(&root, "a/b/file", false).unwrap();
        assert_eq!(removed(&root, "a/b", false), Ok(()));
    }
}
