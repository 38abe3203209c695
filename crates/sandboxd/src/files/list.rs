//! What is in a directory. Links are shown as what they lead to, and those that lead nowhere or out are left out.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, OFlags, statat};
use rustix::io::Errno;

use super::facts::{Facts, Kind};
use super::path::Inside;
use super::root::Root;

pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) facts: Facts,
}

/// Entries by name, and whether there are more than the limit.
pub(crate) fn list(root: &Root, inside: &Inside, most: usize) -> Result<(Vec<Listed>, bool), Errno> {
    let directory = root.get(inside, OFlags::RDONLY | OFlags::DIRECTORY)?;
    let mut entries = Vec::new();
    let mut truncated = false;
    for entry in Dir::read_from(&directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if entries.len() >= most {
            truncated = true;
            break;
        }
        let facts = facts(root, inside, &directory, name);
        entries.extend(facts.map(|facts| Listed { name: name.to_string_lossy().into_owned(), facts }));
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok((entries, truncated))
}

fn facts(root: &Root, inside: &Inside, directory: impl AsFd, name: &OsStr) -> Option<Facts> {
    let own = Facts::of(&statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?);
    if own.kind == Kind::Link { root.facts(&inside.child(name)).ok() } else { Some(own) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_what_they_lead_to_or_left_out() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("dir")).unwrap();
        fs::write(home.path().join("file"), "four").unwrap();
        for (name, target) in [("to-dir", "dir"), ("to-file", "file"), ("broken", "nothing"), ("out", "/etc")]
        {
            symlink(target, home.path().join(name)).unwrap();
        }
        let root = Root::open(home.path()).unwrap();
        let (entries, truncated) = list(&root, &Inside::root(), 99).unwrap();
        let shown: Vec<_> = entries.iter().map(|entry| (&entry.name[..], entry.facts.kind)).collect();
        let expected = [
            ("dir", Kind::Directory),
            ("file", Kind::File),
            ("to-dir", Kind::Directory),
            ("to-file", Kind::File),
        ];
        assert_eq!(shown, expected);
        assert!(!truncated);
    }

    #[test]
    fn a_large_directory_is_cut() {
        let home = tempfile::tempdir().unwrap();
        (0..5).for_each(|number| fs::write(home.path().join(number.to_string()), "").unwrap());
        let root = Root::open(home.path()).unwrap();
        assert_eq!(list(&root, &Inside::root(), 4).map(|(list, cut)| (list.len(), cut)), Ok((4, true)));
        assert_eq!(list(&root, &Inside::root(), 5).map(|(list, cut)| (list.len(), cut)), Ok((5, false)));
    }
}
