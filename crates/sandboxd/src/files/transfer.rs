//! Makes directories, and moves and copies what is below the root.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, RenameFlags, mkdirat, readlinkat, renameat_with, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::facts::{Facts, Kind};
use super::path::{self, Inside};
use super::root::Root;
use super::upload::Upload;
use super::walk::{Follow, Missing, Place};
use crate::failure::{Code, Failure};

/// Deeper trees are refused, since each level holds a descriptor.
const DEEPEST: usize = 128;

/// With what is missing on the way. It must not be there yet.
pub(crate) fn make_directory(root: &Root, inside: &Inside, mode: u32) -> Result<(), Failure> {
    let failed = |errno| Failure::of(errno, &format!("making the directory {}", inside.shown()));
    let place = root.place(inside, Follow::Last, Missing::Made).map_err(failed)?;
    let Some(name) = &place.name else { return Err(failed(Errno::EXIST)) };
    mkdirat(&place.directory, name, Mode::from_raw_mode(mode)).map_err(failed)?;
    // What the process's mask took away.
    rustix::fs::chmodat(&place.directory, name, Mode::from_raw_mode(mode), AtFlags::empty()).map_err(failed)
}

pub(crate) fn rename(root: &Root, from: &Inside, to: &Inside, overwrite: bool) -> Result<(), Failure> {
    let source = source(root, from)?;
    let goal = goal(root, from, to)?;
    let flags = if overwrite { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
    let (Some(old), Some(new)) = (&source.name, &goal.name) else { return Err(of_root()) };
    match renameat_with(&source.directory, old, &goal.directory, new, flags) {
        Err(Errno::XDEV) => Err(Failure::new(
            Code::FailedPrecondition,
            format!(
                "{} and {} are on different file systems: copy it and delete the old one",
                from.shown(),
                to.shown()
            ),
        )),
        Err(errno) => Err(Failure::of(errno, &format!("moving {} to {}", from.shown(), to.shown()))),
        Ok(()) => Ok(()),
    }
}

/// With everything below. Links are copied as links.
pub(crate) fn copy(root: &Root, from: &Inside, to: &Inside, overwrite: bool) -> Result<(), Failure> {
    let source = source(root, from)?;
    let goal = goal(root, from, to)?;
    if goal.stat().is_ok() && !overwrite {
        return Err(Failure::of(Errno::EXIST, &format!("copying to {}", to.shown())));
    }
    copy_any(root, &source, from, to, 0)
}

fn source(root: &Root, from: &Inside) -> Result<Place, Failure> {
    let failed = |errno| Failure::of(errno, &format!("reading {}", from.shown()));
    let place = root.place(from, Follow::Parents, Missing::Fails).map_err(failed)?;
    place.stat().map_err(failed)?;
    if place.name.is_none() { Err(of_root()) } else { Ok(place) }
}

fn goal(root: &Root, from: &Inside, to: &Inside) -> Result<Place, Failure> {
    if to.names().starts_with(from.names()) {
        return Err(Failure::invalid(format!("{} is {} or below it", to.shown(), from.shown())));
    }
    let failed = |errno| Failure::of(errno, &format!("writing {}", to.shown()));
    let place = root.place(to, Follow::Parents, Missing::Made).map_err(failed)?;
    if place.name.is_none() { Err(of_root()) } else { Ok(place) }
}

fn of_root() -> Failure {
    Failure::invalid("the root directory itself cannot be moved, copied or replaced")
}

fn copy_any(root: &Root, source: &Place, from: &Inside, to: &Inside, depth: usize) -> Result<(), Failure> {
    let failed = |errno| Failure::of(errno, &format!("copying {}", from.shown()));
    let facts = Facts::of(&source.stat().map_err(failed)?);
    match facts.kind {
        Kind::File => copy_file(root, source, to, facts.mode),
        Kind::Link => copy_link(root, source, to).map_err(failed),
        Kind::Directory if depth >= DEEPEST => Err(failed(Errno::NAMETOOLONG)),
        Kind::Directory => copy_directory(root, source, from, to, (facts.mode, depth)),
        Kind::Other => Err(Failure::invalid(format!("{} is neither file, directory nor link", from.shown()))),
    }
}

fn copy_file(root: &Root, source: &Place, to: &Inside, mode: u32) -> Result<(), Failure> {
    let file =
        source.open(OFlags::RDONLY | OFlags::NONBLOCK).map_err(|errno| Failure::of(errno, "reading"))?;
    let mut upload = Upload::begin(root, to, mode)?;
    io::copy(&mut File::from(file), upload.file())?;
    upload.finish()
}

fn copy_link(root: &Root, source: &Place, to: &Inside) -> Result<(), Errno> {
    let name = source.name.as_deref().ok_or(Errno::INVAL)?;
    let target = readlinkat(&source.directory, name, Vec::new())?;
    put_link(&target, &root.place(to, Follow::Parents, Missing::Made)?)
}

/// In the place of a file or a link that may be there.
pub(super) fn put_link(target: &std::ffi::CStr, place: &Place) -> Result<(), Errno> {
    let name = place.name.as_deref().ok_or(Errno::ISDIR)?;
    match unlinkat(&place.directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => symlinkat(target, &place.directory, name),
        Err(error) => Err(error),
    }
}

fn copy_directory(
    root: &Root,
    source: &Place,
    from: &Inside,
    to: &Inside,
    (mode, depth): (u32, usize),
) -> Result<(), Failure> {
    let failed = |errno| Failure::of(errno, &format!("copying {}", from.shown()));
    match make_directory(root, to, mode) {
        Err(failure) if failure.code != Code::Conflict => return Err(failure),
        _ => {}
    }
    let directory = source.open(OFlags::RDONLY | OFlags::DIRECTORY).map_err(failed)?;
    for entry in Dir::read_from(&directory).map_err(failed)? {
        let name = path::name(entry.map_err(failed)?.file_name().to_bytes());
        if name != "." && name != ".." {
            let directory = directory.as_fd().try_clone_to_owned()?;
            let place = Place { directory, name: Some(name.clone()) };
            copy_any(root, &place, &from.child(&name), &to.child(&name), depth + 1)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn home() -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("a/b")).unwrap();
        fs::write(directory.path().join("a/b/file"), "text").unwrap();
        symlink("/etc/passwd", directory.path().join("a/link")).unwrap();
        let root = Root::open(directory.path()).unwrap();
        (directory, root)
    }

    fn inside(path: &str) -> Inside {
        Inside::parse(path.as_bytes()).unwrap()
    }

    #[test]
    fn a_tree_is_copied_with_links_as_links() {
        let (home, root) = home();
        copy(&root, &inside("a"), &inside("new/c"), false).unwrap();
        assert_eq!(fs::read_to_string(home.path().join("new/c/b/file")).unwrap(), "text");
        assert_eq!(fs::read_link(home.path().join("new/c/link")).unwrap().to_str(), Some("/etc/passwd"));
    }

    #[test]
    fn what_is_there_is_replaced_only_on_request() {
        let (home, root) = home();
        fs::write(home.path().join("other"), "old").unwrap();
        for change in [copy, rename] {
            let refused = change(&root, &inside("a/b/file"), &inside("other"), false).unwrap_err();
            assert_eq!(refused.code, Code::Conflict);
        }
        copy(&root, &inside("a/b/file"), &inside("other"), true).unwrap();
        assert_eq!(fs::read_to_string(home.path().join("other")).unwrap(), "text");
        rename(&root, &inside("other"), &inside("x/y"), false).unwrap();
        assert!(home.path().join("x/y").exists() && !home.path().join("other").exists());
    }

    #[test]
    fn nothing_is_moved_into_itself_and_the_root_stays() {
        let (_home, root) = home();
        for (from, to) in [("a", "a/b/c"), ("a", "a"), ("", "x"), ("a", "")] {
            for change in [copy, rename] {
                let refused = change(&root, &inside(from), &inside(to), true).unwrap_err();
                assert_eq!(refused.code, Code::InvalidArgument, "{from} to {to}");
            }
        }
    }

    #[test]
    fn a_directory_is_made_once_with_its_parents() {
        let (home, root) = home();
        make_directory(&root, &inside("p/q"), 0o700).unwrap();
        assert!(home.path().join("p/q").is_dir());
        assert_eq!(make_directory(&root, &inside("p/q"), 0o700).unwrap_err().code, Code::Conflict);
    }
}
