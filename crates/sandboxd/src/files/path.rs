//! Paths as clients name them: text from a URL becomes a list of names below the root. This is about what was meant; that nobody
//! gets out by it is the business of `root` and `walk`, which ask the kernel.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use percent_encoding::percent_decode_str;

use crate::failure::Failure;

/// The kernel's limit for a path.
const LONGEST: usize = 4096;

/// Names from the root down; none for the root itself. No name is empty, `.` or `..`, or has a slash or a zero byte in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inside {
    names: Vec<OsString>,
    climbed: bool,
}

impl Inside {
    pub(crate) fn root() -> Self {
        Self::default()
    }

    /// From bytes that are decoded already.
    pub(crate) fn parse(path: &[u8]) -> Result<Self, Failure> {
        if path.contains(&0) {
            return Err(Failure::invalid("the path has a zero byte in it"));
        }
        if path.len() > LONGEST {
            return Err(Failure::invalid(format!("the path is longer than {LONGEST} bytes")));
        }
        let mut inside = Self::default();
        for name in path.split(|byte| *byte == b'/') {
            inside.step(name);
        }
        Ok(inside)
    }

    /// From an absolute path as a process in the sandbox would say it, or one below the root.
    pub(crate) fn parse_under(path: &[u8], root: &Path) -> Result<Self, Failure> {
        let rest = path.strip_prefix(root.as_os_str().as_bytes()).filter(|_| root != Path::new("/"));
        let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with(b"/"));
        Self::parse(rest.unwrap_or(path))
    }

    fn step(&mut self, name: &[u8]) {
        match name {
            b"" | b"." => {}
            b".." => self.climbed |= self.names.pop().is_none(),
            name => self.names.push(OsStr::from_bytes(name).to_owned()),
        }
    }

    /// Whether `..` led above the root on the way, where the contract wants to know.
    pub(crate) fn climbed(&self) -> bool {
        self.climbed
    }

    pub(crate) fn names(&self) -> &[OsString] {
        &self.names
    }

    pub(crate) fn child(&self, name: &OsStr) -> Self {
        let names = self.names.iter().cloned().chain([name.to_owned()]).collect();
        Self { names, climbed: self.climbed }
    }

    /// For the kernel: without a slash in front, and `.` for the root.
    pub(crate) fn relative(&self) -> OsString {
        let joined = self.names.join(OsStr::new("/"));
        if joined.is_empty() { OsString::from(".") } else { joined }
    }

    /// For people: with a slash in front.
    pub(crate) fn shown(&self) -> String {
        format!("/{}", self.names.join(OsStr::new("/")).to_string_lossy())
    }
}

/// One round of percent-decoding, as every HTTP server does.
pub(crate) fn decoded(raw: &str) -> Vec<u8> {
    percent_decode_str(raw).collect()
}

/// A second round, where there is something left to decode: upstream's runtime does this to every path.
pub(crate) fn decoded_again(once: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(once).ok()?;
    let twice = decoded(text);
    (twice != once).then_some(twice)
}

/// Bytes as a name.
pub(crate) fn name(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(path: &str) -> Inside {
        Inside::parse(path.as_bytes()).unwrap()
    }

    #[test]
    fn a_path_is_cleaned() {
        assert_eq!(parsed("a//b/./c/../d/").shown(), "/a/b/d");
        assert_eq!(parsed("/a").relative(), "a");
        for root in ["", ".", "/", "//", "a/..", "./."] {
            assert!(parsed(root).names().is_empty(), "{root}");
            assert_eq!(parsed(root).relative(), ".");
        }
    }

    #[test]
    fn climbing_above_the_root_stays_there_and_is_noted() {
        assert_eq!(parsed("../../etc/passwd").shown(), "/etc/passwd");
        assert!(parsed("../etc").climbed() && parsed("a/../../b").climbed());
        assert!(!parsed("a/../b").climbed());
    }

    #[test]
    fn an_absolute_path_below_the_root_is_meant_as_it_is_said() {
        let under =
            |path: &str| Inside::parse_under(path.as_bytes(), Path::new("/workspace")).unwrap().shown();
        assert_eq!(under("/workspace/a"), "/a");
        assert_eq!(under("/workspace"), "/");
        assert_eq!(under("/workspaces/a"), "/workspaces/a");
        assert_eq!(under("workspace/a"), "/workspace/a");
        assert_eq!(Inside::parse_under(b"/a", Path::new("/")).unwrap().shown(), "/a");
    }

    #[test]
    fn zero_bytes_and_endless_paths_are_refused() {
        assert!(Inside::parse(b"a\0b").is_err());
        assert!(Inside::parse(&[b'a'; LONGEST + 1]).is_err());
    }

    #[test]
    fn a_path_is_decoded_once_or_twice() {
        assert_eq!(decoded("a%2Fb%20c"), b"a/b c");
        assert_eq!(decoded("a%252Fb"), b"a%2Fb");
        assert_eq!(decoded_again(b"a%2Fb"), Some(b"a/b".to_vec()));
        assert_eq!(decoded_again(b"100%"), None);
        assert_eq!(decoded("%"), b"%");
    }

    proptest! {
        #[test]
        fn whatever_is_said_the_names_are_plain(path in proptest::collection::vec(prop_oneof![Just(b'/'), Just(b'.'), any::<u8>()], 0..60)) {
            if let Ok(inside) = Inside::parse(&path) {
                for name in inside.names() {
                    let name = name.as_bytes();
                    prop_assert!(!name.is_empty() && name != b"." && name != b"..");
                    prop_assert!(!name.contains(&b'/') && !name.contains(&0));
                }
                let again = Inside::parse(inside.relative().as_bytes()).unwrap();
                prop_assert_eq!(again.names(), inside.names());
            }
        }
    }
}
