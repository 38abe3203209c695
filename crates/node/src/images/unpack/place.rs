//! Where an entry goes: a path beneath the layer's root that names nothing else.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::super::limits::Limits;
use super::Refusal;

const LONGEST_PART: usize = 255;

/// A relative path without `.`, `..`, empty parts and NUL; empty for the root itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place(PathBuf);

impl Place {
    pub(super) fn of(name: &[u8], limits: &Limits) -> Result<Self, Refusal> {
        check(name, limits)?;
        let parts: Vec<&[u8]> =
            name.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b".")).collect();
        if parts.contains(&&b".."[..]) {
            return Err(Refusal::Climbs);
        }
        if let Some(part) = parts.iter().find(|part| part.len() > LONGEST_PART) {
            return Err(Refusal::LongName(part.len(), LONGEST_PART));
        }
        if parts.len() > limits.depth {
            return Err(Refusal::Deep(parts.len(), limits.depth));
        }
        Ok(Self(PathBuf::from(OsString::from_vec(parts.join(&b'/')))))
    }

    /// The directory it lies in, and its name there; nothing for the root.
    pub(super) fn split(&self) -> Option<(&Path, &OsStr)> {
        Some((self.0.parent()?, self.0.file_name()?))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// A neighbour of that name.
    pub(super) fn beside(&self, name: &[u8]) -> Self {
        Self(self.0.with_file_name(OsStr::from_bytes(name)))
    }

    pub(super) fn parent(&self) -> Self {
        Self(self.0.parent().map(Path::to_owned).unwrap_or_default())
    }
}

fn check(name: &[u8], limits: &Limits) -> Result<(), Refusal> {
    match name {
        [] => Err(Refusal::Nameless),
        [b'/', ..] => Err(Refusal::Absolute),
        _ if name.contains(&0) => Err(Refusal::Nul),
        _ if name.len() > limits.path_bytes => Err(Refusal::LongName(name.len(), limits.path_bytes)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> Result<String, Refusal> {
        Place::of(name.as_bytes(), &Limits::default()).map(|place| place.path().display().to_string())
    }

    #[test]
    fn names_are_cleaned() {
        assert_eq!(place("./a//b/./c/"), Ok("a/b/c".to_owned()));
        assert_eq!(place("./"), Ok(String::new()));
        assert_eq!(place("..a/b.."), Ok("..a/b..".to_owned()));
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        assert_eq!(place("/etc/passwd"), Err(Refusal::Absolute));
        for name in ["..", "../a", "a/../../b", "a/..", "./../a"] {
            assert_eq!(place(name), Err(Refusal::Climbs), "{name}");
        }
        assert_eq!(place("a\0b"), Err(Refusal::Nul));
        assert_eq!(place(""), Err(Refusal::Nameless));
    }

    #[test]
    fn names_without_end_are_refused() {
        assert_eq!(place(&"a/".repeat(257)), Err(Refusal::Deep(257, 256)));
        assert_eq!(place(&"a".repeat(256)), Err(Refusal::LongName(256, 255)));
        assert_eq!(place(&"ab/".repeat(2000)), Err(Refusal::LongName(6000, 4095)));
    }
}
