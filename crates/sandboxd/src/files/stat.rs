//! The facts of one path: of a link itself, or of what it leads to.

use rustix::fs::{OFlags, fstat, readlinkat};
use rustix::io::Errno;

use super::facts::{Facts, Kind};
use super::path::Inside;
use super::root::Root;
use super::walk::{Follow, Missing};

/// With what a link says, if it is one.
pub(crate) fn stat(root: &Root, inside: &Inside, follow: bool) -> Result<(Facts, Option<String>), Errno> {
    if follow {
        return root.facts(inside).map(|facts| (facts, None));
    }
    let place = root.place(inside, Follow::Parents, Missing::Fails)?;
    // By a descriptor, so that both are of the same thing.
    let found = place.open(OFlags::PATH)?;
    let facts = Facts::of(&fstat(&found)?);
    let target = match facts.kind {
        Kind::Link => Some(readlinkat(&found, "", Vec::new())?.to_string_lossy().into_owned()),
        _ => None,
    };
    Ok((facts, target))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_is_itself_or_what_it_leads_to() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("file"), "four").unwrap();
        for (name, target) in [("link", "file"), ("broken", "nothing"), ("out", "/etc/passwd")] {
            symlink(target, home.path().join(name)).unwrap();
        }
        let root = Root::open(home.path()).unwrap();
        let look = |path: &str, follow| {
            let (facts, target) = stat(&root, &Inside::parse(path.as_bytes()).unwrap(), follow)?;
            Ok((facts.kind, facts.size, target))
        };
        let link = |target: &str| Ok((Kind::Link, target.len() as u64, Some(target.to_owned())));
        assert_eq!([look("link", false), look("broken", false)], [link("file"), link("nothing")]);
        assert_eq!(look("out", false), link("/etc/passwd"));
        assert_eq!(look("link", true), Ok((Kind::File, 4, None)));
        assert_eq!([look("broken", true), look("out", true)], [Err(Errno::NOENT), Err(Errno::XDEV)]);
        assert_eq!(look("", false).map(|(kind, ..)| kind), Ok(Kind::Directory));
        assert_eq!(look("file/x", false), Err(Errno::NOTDIR));
    }
}
