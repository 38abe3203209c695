//! Reads the files of a log one after the other, and shows what is wanted of them. Blocks.

use std::collections::VecDeque;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::filter::Filter;
use super::record::Record;
use super::rotation::{Part, after};
use super::tail::Tail;
use crate::streams::LogStream;

/// What is read at once.
const CHUNK: usize = 128 << 10;

#[derive(Debug)]
pub(super) struct Reader {
    path: PathBuf,
    current: Option<Part>,
    /// Those that come after it, oldest first. Once there are any, nobody writes to the current one.
    newer: VecDeque<Part>,
    /// The beginning of a record whose end was not there yet.
    partial: Vec<u8>,
    filter: Filter,
}

impl Reader {
    /// At the last so many lines of all that there is, or at its beginning.
    pub(super) fn open(
        path: &Path,
        tail: Option<u64>,
        stream: LogStream,
        filter: Filter,
    ) -> io::Result<Self> {
        let mut newer = after(path, None)?;
        if let Some(lines) = tail {
            skip_to(&mut newer, Tail::new(lines, stream))?;
        }
        let current = newer.pop_front();
        Ok(Self { path: path.to_owned(), current, newer, partial: Vec::new(), filter })
    }

    /// Whether nothing more will be shown, whatever is written.
    pub(super) fn is_done(&self) -> bool {
        self.filter.is_done()
    }

    /// What comes next of the files that are known; nothing when they have been read.
    pub(super) fn read(&mut self) -> io::Result<Option<Bytes>> {
        let mut chunk = vec![0; CHUNK];
        while !self.is_done() {
            let length = match &mut self.current {
                Some(part) => part.file.read(&mut chunk)?,
                None => 0,
            };
            let shown = if length > 0 { self.show(&chunk[..length]) } else { Vec::new() };
            if !shown.is_empty() {
                return Ok(Some(shown.into()));
            }
            if length == 0 {
                let Some(next) = self.newer.pop_front() else { return Ok(None) };
                self.current = Some(next);
                self.partial.clear();
            }
        }
        Ok(None)
    }

    /// The same, and then what has been written since.
    pub(super) fn read_on(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            if let Some(shown) = self.read()? {
                return Ok(Some(shown));
            }
            self.newer = after(&self.path, self.current.as_ref())?;
            if self.newer.is_empty() {
                return Ok(None);
            }
        }
    }

    fn show(&mut self, chunk: &[u8]) -> Vec<u8> {
        let mut shown = Vec::new();
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            let Some(end) = piece.strip_suffix(b"\n") else {
                self.partial.extend_from_slice(piece);
                break;
            };
            let joined;
            let line = if self.partial.is_empty() {
                end
            } else {
                self.partial.extend_from_slice(end);
                joined = std::mem::take(&mut self.partial);
                &joined[..]
            };
            if let Some(record) = Record::parse(line) {
                self.filter.show(&record, &mut shown);
            }
            if self.filter.is_done() {
                break;
            }
        }
        shown
    }
}

/// Leaves what is to be read, and stands where it begins.
fn skip_to(parts: &mut VecDeque<Part>, mut tail: Tail) -> io::Result<()> {
    for number in (0..parts.len()).rev() {
        if let Some(start) = tail.find(&parts[number].file)? {
            parts[number].file.seek(SeekFrom::Start(start))?;
            parts.drain(..number);
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::fs::File;
    use std::io::Write;

    use super::*;
    use crate::shim::aside;
    use crate::streams::LogOptions;

    fn records(numbers: std::ops::Range<u32>) -> String {
        numbers
            .map(|number| ["2026-11-15T12:00:00.000000000Z stdout F ", &number.to_string(), "\n"].concat())
            .collect()
    }

    fn lines(numbers: std::ops::Range<u32>) -> String {
        numbers.map(|number| number.to_string() + "\n").collect()
    }

    fn open(path: &Path, tail: Option<u64>) -> Reader {
        Reader::open(path, tail, LogStream::All, Filter::new(&LogOptions::default(), None)).unwrap()
    }

    fn rest(reader: &mut Reader) -> String {
        let mut text = Vec::new();
        while let Some(bytes) = reader.read_on().unwrap() {
            text.extend_from_slice(&bytes);
        }
        String::from_utf8(text).unwrap()
    }

    /// Three files, the last of which is written.
    fn log(folder: &tempfile::TempDir) -> PathBuf {
        let path = folder.path().join("0.log");
        fs::write(aside(&path, 2), records(0..10)).unwrap();
        fs::write(aside(&path, 1), records(10..20)).unwrap();
        fs::write(&path, records(20..25)).unwrap();
        path
    }

    #[test]
    fn files_that_were_put_aside_are_read_first() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(rest(&mut open(&log(&folder), None)), lines(0..25));
    }

    #[test]
    fn the_last_lines_may_be_in_several_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = log(&folder);
        for count in [0, 4, 5, 6, 15, 20, 25, 100] {
            let expected = lines(25_u32.saturating_sub(count)..25);
            assert_eq!(rest(&mut open(&path, Some(count.into()))), expected, "{count}");
        }
    }

    #[test]
    fn a_reader_goes_on_over_files_that_are_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = log(&folder);
        let mut reader = open(&path, Some(1));
        assert_eq!(rest(&mut reader), "24\n");
        File::options().append(true).open(&path).unwrap().write_all(records(25..26).as_bytes()).unwrap();
        for next in [26, 27] {
            fs::rename(aside(&path, 1), aside(&path, 2)).unwrap();
            fs::rename(&path, aside(&path, 1)).unwrap();
            fs::write(&path, records(next..next + 1)).unwrap();
        }
        assert_eq!(rest(&mut reader), lines(25..28));
    }

    #[test]
    fn a_log_that_is_not_there_yet_is_found_when_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.log");
        let mut reader = open(&path, Some(3));
        assert_eq!(rest(&mut reader), "");
        fs::write(&path, records(0..5)).unwrap();
        assert_eq!(rest(&mut reader), lines(0..5));
    }

    #[test]
    fn half_a_record_waits_for_its_other_half() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.log");
        let record = records(7..8);
        let (first, second) = record.split_at(20);
        fs::write(&path, first).unwrap();
        let mut reader = open(&path, None);
        assert_eq!(rest(&mut reader), "");
        File::options().append(true).open(&path).unwrap().write_all(second.as_bytes()).unwrap();
        assert_eq!(rest(&mut reader), "7\n");
    }
}
