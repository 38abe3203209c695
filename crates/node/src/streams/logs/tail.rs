//! Where the last lines of a log begin, read from its end: what comes before them is never looked at.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::record::Record;
use crate::streams::LogStream;

/// What is read at once.
const BLOCK: u64 = 64 << 10;

/// Counts lines backwards, over as many files as it takes.
#[derive(Debug)]
pub(super) struct Tail {
    left: u64,
    stream: LogStream,
    /// The last record counts although its line has not ended.
    at_end: bool,
}

impl Tail {
    pub(super) fn new(lines: u64, stream: LogStream) -> Self {
        Self { left: lines, stream, at_end: true }
    }

    /// Where the lines begin in a file, if they all do. Files come newest first.
    pub(super) fn find(&mut self, file: &File) -> io::Result<Option<u64>> {
        let mut end = file.metadata()?.len();
        // The beginning of what was read already, which belongs to the record before it.
        let mut rest = Vec::new();
        while end > 0 {
            let begin = end.saturating_sub(BLOCK);
            let mut block = vec![0; usize::try_from(end - begin).unwrap_or_default()];
            file.read_exact_at(&mut block, begin)?;
            block.append(&mut rest);
            if let Some(start) = self.count(&block, begin == 0) {
                return Ok(Some(begin + start as u64));
            }
            let first = block.iter().position(|byte| *byte == b'\n').map_or(block.len(), |at| at + 1);
            block.truncate(first);
            (rest, end) = (block, begin);
        }
        Ok(None)
    }

    /// Where in the block the lines begin. Unless the file begins with it, its first record is not whole.
    fn count(&mut self, block: &[u8], is_first: bool) -> Option<usize> {
        let mut end = block.iter().rposition(|byte| *byte == b'\n')? + 1;
        while end > 0 {
            let line = &block[..end - 1];
            let begin = line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            if begin == 0 && !is_first {
                return None;
            }
            if self.counts(&line[begin..]) {
                if self.left == 0 {
                    return Some(end);
                }
                self.left -= 1;
            }
            end = begin;
        }
        None
    }

    fn counts(&mut self, line: &[u8]) -> bool {
        let Some(record) = Record::parse(line).filter(|record| record.is_of(self.stream)) else {
            return false;
        };
        let at_end = std::mem::take(&mut self.at_end);
        record.whole || at_end
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file(lines: &[String]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(lines.concat().as_bytes()).unwrap();
        file
    }

    fn from(file: &File, start: u64) -> String {
        let mut text = vec![0; usize::try_from(file.metadata().unwrap().len() - start).unwrap()];
        file.read_exact_at(&mut text, start).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn the_last_lines_are_found_whatever_blocks_they_are_in() {
        let lines: Vec<String> = (0..10_000).map(|number| format!("t stdout F line {number}\n")).collect();
        let file = file(&lines);
        for count in [0, 1, 3, 4000, 9999] {
            let start = Tail::new(count, LogStream::All).find(&file).unwrap().unwrap();
            let expected = lines[lines.len() - usize::try_from(count).unwrap()..].concat();
            assert!(from(&file, start) == expected, "{count}");
        }
        assert_eq!(Tail::new(10_000, LogStream::All).find(&file).unwrap(), None);
    }

    #[test]
    fn records_longer_than_a_block_count_once() {
        let long = format!("t stdout F {}\n", "x".repeat(200_000));
        let file = file(&["t stdout F first\n".to_owned(), long.clone(), "t stdout F last\n".to_owned()]);
        let start = Tail::new(2, LogStream::All).find(&file).unwrap().unwrap();
        assert_eq!(from(&file, start), format!("{long}t stdout F last\n"));
    }

    #[test]
    fn parts_count_as_the_line_that_they_make() {
        let lines = ["t stdout F one\n", "t stdout P tw", "\nt stdout F o\n", "t stdout P three\n"];
        let file = file(&lines.map(str::to_owned));
        let start = Tail::new(2, LogStream::All).find(&file).unwrap().unwrap();
        assert_eq!(from(&file, start), "t stdout P tw\nt stdout F o\nt stdout P three\n");
    }

    #[test]
    fn lines_of_other_streams_do_not_count() {
        let lines = ["t stderr F one\n", "t stderr F two\n", "t stdout F three\n"];
        let file = file(&lines.map(str::to_owned));
        let start = Tail::new(1, LogStream::Stderr).find(&file).unwrap().unwrap();
        assert_eq!(from(&file, start), "t stderr F two\nt stdout F three\n");
    }
}
