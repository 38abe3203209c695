//! Reads a tar archive entry by entry, in every dialect that images come in: old, POSIX and GNU, with long names, holes
//! and extended attributes. Where they can be read in two ways they are read as Go reads them, since all runtimes do.

use std::borrow::Cow;
use std::io::{self, Read, Take};

use tar::{EntryType, Header};

use super::super::limits::Limits;
use super::number::Time;
use super::pax::Extra;
use super::sparse::Sparse;
use super::{Excess, Refusal, UnpackError};

const BLOCK: usize = 512;

pub(in crate::images) struct Archive<'a, R> {
    reader: R,
    limits: &'a Limits,
    headers: u64,
    /// What is unread of the current entry's data, and what fills its last block.
    unread: u64,
    padding: u64,
}

#[derive(Debug)]
pub(in crate::images) struct Entry {
    /// As it is in the archive.
    pub(in crate::images) name: Vec<u8>,
    pub(in crate::images) kind: Kind,
    pub(super) mode: u32,
    pub(super) uid: u64,
    pub(super) gid: u64,
    pub(super) mtime: Time,
    pub(super) xattrs: Vec<(String, Vec<u8>)>,
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::images) enum Kind {
    /// Of so many bytes, which the archive holds from first to last.
    File(u64),
    /// With holes.
    Sparse(Sparse),
    Directory,
    Symlink(Vec<u8>),
    HardLink(Vec<u8>),
    Fifo,
    Device,
}

/// What precedes an entry and says more than its own header can.
#[derive(Default)]
struct Before {
    extra: Extra,
    long_name: Option<Vec<u8>>,
    long_link: Option<Vec<u8>>,
}

impl<'a, R: Read> Archive<'a, R> {
    pub(in crate::images) fn new(reader: R, limits: &'a Limits) -> Self {
        Self { reader, limits, headers: 0, unread: 0, padding: 0 }
    }

    /// The next entry. The data of the one before is skipped where nobody read it.
    pub(in crate::images) fn next(&mut self) -> Result<Option<Entry>, UnpackError> {
        let mut before = Before::default();
        while let Some(header) = self.header()? {
            match header.entry_type().as_byte() {
                b'x' => before.extra.read(&self.special(&header)?)?,
                b'g' => drop(self.special(&header)?),
                b'L' => before.long_name = Some(until_nul(self.special(&header)?)),
                b'K' => before.long_link = Some(until_nul(self.special(&header)?)),
                _ => return self.entry(&header, before).map(Some),
            }
        }
        Ok(None)
    }

    pub(in crate::images) fn reader(&self) -> &R {
        &self.reader
    }

    /// Where the current entry's data is read from.
    pub(super) fn data(&mut self) -> Data<'_, R> {
        Data { reader: (&mut self.reader).take(self.unread), unread: &mut self.unread }
    }

    /// A header that adds up; nothing at the end, which two empty blocks mark, or the end of the file.
    fn header(&mut self) -> Result<Option<Header>, UnpackError> {
        self.skip()?;
        let Some(block) = self.block()? else { return Ok(None) };
        if block.iter().all(|byte| *byte == 0) {
            return match self.block()? {
                Some(block) if block.iter().any(|byte| *byte != 0) => {
                    Err(UnpackError::Malformed("an empty block is within it"))
                }
                _ => Ok(None),
            };
        }
        self.count()?;
        let header = Header::from_byte_slice(&block);
        let claimed = header.cksum().map_err(|_| UnpackError::Malformed("a header has no checksum"))?;
        if sums(&block).contains(&i64::from(claimed)) {
            Ok(Some(header.clone()))
        } else {
            Err(UnpackError::Malformed("a header does not add up"))
        }
    }

    fn count(&mut self) -> Result<(), UnpackError> {
        self.headers += 1;
        if self.headers > self.limits.entries {
            return Err(UnpackError::Excess(Excess::Entries(self.limits.entries)));
        }
        Ok(())
    }

    fn block(&mut self) -> Result<Option<[u8; BLOCK]>, UnpackError> {
        let mut block = [0; BLOCK];
        let mut filled = 0;
        while filled < BLOCK {
            match self.reader.read(&mut block[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(UnpackError::Malformed("it ends within a header")),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(UnpackError::read(error)),
            }
        }
        Ok(Some(block))
    }

    fn skip(&mut self) -> Result<(), UnpackError> {
        let rest = self.unread + self.padding;
        let skipped =
            io::copy(&mut (&mut self.reader).take(rest), &mut io::sink()).map_err(UnpackError::read)?;
        // Some writers leave out what fills the last block.
        if skipped < self.unread {
            return Err(UnpackError::Malformed("it ends within a file"));
        }
        (self.unread, self.padding) = (0, 0);
        Ok(())
    }

    /// The content of a header that is itself written as a file.
    fn special(&mut self, header: &Header) -> Result<Vec<u8>, UnpackError> {
        let size = header.entry_size().map_err(|_| UnpackError::Malformed("a header has no size"))?;
        if size > self.limits.header_bytes {
            return Err(UnpackError::Excess(Excess::Header(size, self.limits.header_bytes)));
        }
        self.expect(size);
        let mut content = Vec::new();
        self.data().read_to_end(&mut content).map_err(UnpackError::read)?;
        if (content.len() as u64) < size {
            return Err(UnpackError::Malformed("it ends within a header"));
        }
        Ok(content)
    }

    fn expect(&mut self, size: u64) {
        self.unread = size;
        self.padding = size.next_multiple_of(BLOCK as u64) - size;
    }

    fn entry(&mut self, header: &Header, before: Before) -> Result<Entry, UnpackError> {
        let Before { extra, long_name, long_link } = before;
        let recorded = Sparse::of_records(&extra)?;
        let name = recorded.as_ref().and_then(|recorded| recorded.name.clone());
        let name = name.or_else(|| extra.path.clone()).or(long_name).unwrap_or_else(|| name_of(header));
        let link = extra.link.clone().or(long_link);
        let kind = self.kind(header, &name, link, &extra, recorded);
        let kind = kind.map_err(|error| error.within(&String::from_utf8_lossy(&name)))?;
        Ok(Entry {
            kind,
            mode: header.mode().map_err(|_| UnpackError::Malformed("a header has no mode"))? & 0o7777,
            uid: extra
                .uid
                .map_or_else(|| number(&header.as_old().uid, || header.uid(), "a header has no owner"), Ok)?,
            gid: extra
                .gid
                .map_or_else(|| number(&header.as_old().gid, || header.gid(), "a header has no group"), Ok)?,
            mtime: extra.mtime.map_or_else(|| mtime(header), Ok)?,
            xattrs: extra.xattrs,
            name,
        })
    }

    fn kind(
        &mut self,
        header: &Header,
        name: &[u8],
        link: Option<Vec<u8>>,
        extra: &Extra,
        recorded: Option<super::sparse::Recorded>,
    ) -> Result<Kind, UnpackError> {
        let target = || {
            let target = link.or_else(|| header.link_name_bytes().map(Cow::into_owned));
            target.filter(|target| !target.is_empty()).ok_or(Refusal::NoTarget)
        };
        match header.entry_type() {
            // An old archive has no type for directories.
            EntryType::Regular if name.ends_with(b"/") => Ok(Kind::Directory),
            EntryType::Regular | EntryType::Continuous => self.file(header, extra, recorded),
            EntryType::GNUSparse => self.sparse_of_old(header),
            EntryType::Directory => Ok(Kind::Directory),
            EntryType::Symlink => Ok(Kind::Symlink(target()?)),
            EntryType::Link => Ok(Kind::HardLink(target()?)),
            EntryType::Fifo => Ok(Kind::Fifo),
            EntryType::Char | EntryType::Block => Ok(Kind::Device),
            other => Err(Refusal::Kind(char::from(other.as_byte())).into()),
        }
    }

    fn file(
        &mut self,
        header: &Header,
        extra: &Extra,
        recorded: Option<super::sparse::Recorded>,
    ) -> Result<Kind, UnpackError> {
        let size = extra.size.map_or_else(
            || header.entry_size().map_err(|_| UnpackError::Malformed("a header has no size")),
            Ok,
        )?;
        // What goes beyond the limit, the meter would notice only after it was written.
        self.no_larger(size)?;
        self.expect(size);
        let Some(mut recorded) = recorded else { return Ok(Kind::File(size)) };
        if recorded.listed_in_data {
            let limits = self.limits;
            recorded.sparse.read_list(&mut self.data(), limits)?;
        }
        self.with_holes(recorded.sparse)
    }

    fn sparse_of_old(&mut self, header: &Header) -> Result<Kind, UnpackError> {
        let gnu = header.as_gnu().ok_or(Refusal::Holes)?;
        let size = header.entry_size().map_err(|_| UnpackError::Malformed("a header has no size"))?;
        self.no_larger(size)?;
        let sparse = Sparse::of_header(gnu, &mut self.reader, self.limits)?;
        self.expect(size);
        self.with_holes(sparse)
    }

    fn with_holes(&self, sparse: Sparse) -> Result<Kind, UnpackError> {
        sparse.check(self.unread)?;
        self.no_larger(sparse.size)?;
        Ok(Kind::Sparse(sparse))
    }

    fn no_larger(&self, size: u64) -> Result<(), UnpackError> {
        if size > self.limits.layer_bytes {
            return Err(UnpackError::Excess(Excess::Bytes(self.limits.layer_bytes)));
        }
        Ok(())
    }
}

/// The data of one entry; what was read of it need not be skipped.
pub(super) struct Data<'a, R> {
    reader: Take<&'a mut R>,
    unread: &'a mut u64,
}

impl<R: Read> Read for Data<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        *self.unread -= count as u64;
        Ok(count)
    }
}

/// The sum of all bytes with the checksum itself taken for spaces; some writers took bytes for signed.
fn sums(block: &[u8; BLOCK]) -> [i64; 2] {
    let bytes =
        || block.iter().enumerate().map(|(at, byte)| if (148..156).contains(&at) { b' ' } else { *byte });
    [bytes().map(i64::from).sum(), bytes().map(|byte| i64::from(byte.cast_signed())).sum()]
}

fn name_of(header: &Header) -> Vec<u8> {
    header.path_bytes().into_owned()
}

/// A number of a header. One that was left blank is 0, to every reader of archives.
fn number(
    field: &[u8],
    read: impl FnOnce() -> io::Result<u64>,
    missing: &'static str,
) -> Result<u64, UnpackError> {
    if field.iter().all(|byte| matches!(byte, 0 | b' ')) {
        return Ok(0);
    }
    read().map_err(|_| UnpackError::Malformed(missing))
}

fn mtime(header: &Header) -> Result<Time, UnpackError> {
    let seconds = number(&header.as_old().mtime, || header.mtime(), "a header has no time")?;
    Ok(Time { seconds: seconds.cast_signed(), nanoseconds: 0 })
}

fn until_nul(mut name: Vec<u8>) -> Vec<u8> {
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    name.truncate(end);
    name
}
