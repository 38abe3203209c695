//! Names by which a layer says what of the layers below is gone.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::Refusal;

const PREFIX: &[u8] = b".wh.";
const OPAQUE: &[u8] = b".wh..wh..opq";
/// Other such names are the notes of a file system of old.
const NOTES: &[u8] = b".wh..wh.";

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Whiteout<'a> {
    /// The neighbour of that name.
    Of(&'a [u8]),
    /// All that is in the directory.
    Opaque,
    /// Of no meaning here.
    Note,
}

impl<'a> Whiteout<'a> {
    /// Nothing where the name is that of an ordinary file.
    pub(super) fn read(name: &'a OsStr) -> Result<Option<Self>, Refusal> {
        let name = name.as_bytes();
        if name == OPAQUE {
            return Ok(Some(Self::Opaque));
        }
        if name.starts_with(NOTES) {
            return Ok(Some(Self::Note));
        }
        match name.strip_prefix(PREFIX) {
            None => Ok(None),
            Some(b"" | b"." | b"..") => Err(Refusal::Whiteout),
            Some(gone) => Ok(Some(Self::Of(gone))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_gone() {
        let read = |name| Whiteout::read(OsStr::new(name));
        assert_eq!(read(".wh.a"), Ok(Some(Whiteout::Of(b"a"))));
        assert_eq!(read(".wh..wh..opq"), Ok(Some(Whiteout::Opaque)));
        assert_eq!(read(".wh..wh.plnk"), Ok(Some(Whiteout::Note)));
        assert_eq!(read("a.wh.b"), Ok(None));
        for name in [".wh.", ".wh..", ".wh..."] {
            assert_eq!(read(name), Err(Refusal::Whiteout), "{name}");
        }
    }
}
