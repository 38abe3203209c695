//! The extra header of POSIX archives: records that overrule the header after them.

use super::UnpackError;
use super::number::{self, Time};

const XATTR: &str = "SCHILY.xattr.";
const SPARSE: &str = "GNU.sparse.";

/// What the records say of the next entry.
#[derive(Debug, Default)]
pub(super) struct Extra {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) uid: Option<u64>,
    pub(super) gid: Option<u64>,
    pub(super) mtime: Option<Time>,
    pub(super) xattrs: Vec<(String, Vec<u8>)>,
    /// Without their prefix, in their order, since some come many times.
    pub(super) sparse: Vec<(String, Vec<u8>)>,
}

const BROKEN: UnpackError = UnpackError::Malformed("an extra header is broken");

impl Extra {
    /// Adds the records in `bytes`.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> Result<(), UnpackError> {
        while !bytes.is_empty() {
            let (key, value, rest) = record(bytes).ok_or(BROKEN)?;
            self.set(key, value)?;
            bytes = rest;
        }
        Ok(())
    }

    fn set(&mut self, key: &str, value: &[u8]) -> Result<(), UnpackError> {
        let number =
            || if value.is_empty() { Ok(None) } else { number::natural(value).map(Some).ok_or(BROKEN) };
        let text = || (!value.is_empty()).then(|| value.to_vec());
        match key {
            "path" => self.path = text(),
            "linkpath" => self.link = text(),
            "size" => self.size = number()?,
            "uid" => self.uid = number()?,
            "gid" => self.gid = number()?,
            "mtime" if value.is_empty() => self.mtime = None,
            "mtime" => self.mtime = Some(number::time(value).ok_or(BROKEN)?),
            _ => self.set_prefixed(key, value),
        }
        Ok(())
    }

    fn set_prefixed(&mut self, key: &str, value: &[u8]) {
        if let Some(name) = key.strip_prefix(XATTR) {
            self.xattrs.retain(|(known, _)| known != name);
            self.xattrs.push((name.to_owned(), value.to_vec()));
        } else if let Some(name) = key.strip_prefix(SPARSE) {
            self.sparse.push((name.to_owned(), value.to_vec()));
        }
    }
}

/// `length key=value`, the length including itself and the line's end.
fn record(bytes: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let space = bytes.iter().take(20).position(|byte| *byte == b' ')?;
    let length = usize::try_from(number::natural(&bytes[..space])?).ok()?;
    let record = bytes.get(space + 1..length)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|byte| *byte == b'=')?;
    let key = std::str::from_utf8(&record[..equals]).ok().filter(|key| !key.is_empty())?;
    Some((key, &record[equals + 1..], &bytes[length..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Extra, UnpackError> {
        let mut extra = Extra::default();
        extra.read(bytes).map(|()| extra)
    }

    #[test]
    fn records_are_read_with_any_bytes_in_them() {
        let extra = read(b"12 path=a\nb\n11 uid=123\n27 SCHILY.xattr.user.x=1=\n\n9 size=7\n").unwrap();
        assert_eq!(extra.path.unwrap(), b"a\nb");
        assert_eq!((extra.uid, extra.size), (Some(123), Some(7)));
        assert_eq!(extra.xattrs, [("user.x".to_owned(), b"1=\n".to_vec())]);
    }

    #[test]
    fn the_last_of_many_holds_and_nothing_takes_back() {
        assert_eq!(read(b"9 size=1\n9 size=2\n").unwrap().size, Some(2));
        assert_eq!(read(b"9 size=1\n8 size=\n").unwrap().size, None);
        assert_eq!(read(b"25 SCHILY.xattr.user.x=1\n25 SCHILY.xattr.user.x=2\n").unwrap().xattrs.len(), 1);
    }

    #[test]
    fn broken_records_are_refused() {
        for bytes in [
            &b"9 size=1"[..],
            b"99 size=1\n",
            b"0 \n",
            b"2 \n",
            b"3 \n",
            b"x size=1\n",
            b"9 size=x\n",
            b"9 size1x\n",
            b"5 =ab\n",
            b"18446744073709551615 a=b\n",
            b"999999999999999999999999",
            b"10 size=-1\n",
        ] {
            assert!(read(bytes).is_err(), "{}", String::from_utf8_lossy(bytes));
        }
    }
}
