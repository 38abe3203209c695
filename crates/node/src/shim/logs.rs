//! Logs as Kubernetes reads them: `<time> stdout|stderr F|P <line>`, one file per attempt, put aside when it is full.
//!
//! A log that cannot be written never holds up the container: what does not fit is counted and left out, line by line, and
//! the file stays readable.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::plan::Log;

/// Where longer lines are cut into parts, as other runtimes do.
const LINE: usize = 16 << 10;

/// The bytes of one stream, on their way to become lines.
#[derive(Debug)]
pub(super) struct Lines {
    stream: &'static str,
    partial: Vec<u8>,
}

impl Lines {
    pub(super) fn new(stream: &'static str) -> Self {
        Self { stream, partial: Vec::new() }
    }

    /// Records of all lines that are whole with these bytes, and of parts of those that are too long.
    pub(super) fn feed(&mut self, bytes: &[u8], now: Timestamp) -> Vec<u8> {
        let mut records = Vec::with_capacity(bytes.len() + 64);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, whole) = piece.strip_suffix(b"\n").map_or((piece, false), |text| (text, true));
            self.feed_piece(text, whole, now, &mut records);
        }
        records
    }

    fn feed_piece(&mut self, mut text: &[u8], whole: bool, now: Timestamp, records: &mut Vec<u8>) {
        while self.partial.len() + text.len() > LINE {
            let (fits, rest) = text.split_at(LINE - self.partial.len());
            self.partial.extend_from_slice(fits);
            self.record(b'P', now, records);
            text = rest;
        }
        self.partial.extend_from_slice(text);
        if whole {
            self.record(b'F', now, records);
        }
    }

    /// What the stream ended with, if that was not the end of a line. Readers add no line end to it either.
    pub(super) fn finish(&mut self, now: Timestamp) -> Vec<u8> {
        let mut records = Vec::new();
        if !self.partial.is_empty() {
            self.record(b'P', now, &mut records);
        }
        records
    }

    fn record(&mut self, tag: u8, now: Timestamp, records: &mut Vec<u8>) {
        let time = now.strftime("%Y-%m-%dT%H:%M:%S.%9fZ");
        records.extend_from_slice(format!("{time} {} ", self.stream).as_bytes());
        records.extend_from_slice(&[tag, b' ']);
        records.append(&mut self.partial);
        records.push(b'\n');
        // Quiet containers should cost nothing.
        self.partial = Vec::new();
    }
}

/// The file of one attempt.
#[derive(Debug)]
pub(super) struct LogFile {
    plan: Option<Log>,
    file: Option<File>,
    size: u64,
    lost: u64,
}

impl LogFile {
    pub(super) fn new(plan: Option<Log>) -> Self {
        Self { plan, file: None, size: 0, lost: 0 }
    }

    /// Bytes of records that could not be written.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    pub(super) fn write(&mut self, records: &[u8]) {
        if records.is_empty() || self.plan.is_none() {
            return;
        }
        let mut rest = records;
        while !rest.is_empty() {
            let (first, others) = rest.split_at(self.fitting(rest));
            if self.append(first).is_err() {
                self.lost += first.len() as u64;
                self.undo();
            }
            rest = others;
        }
    }

    /// How much of the records, which is at least one of them, goes into the same file.
    fn fitting(&self, records: &[u8]) -> usize {
        let max = self.plan.as_ref().map_or(u64::MAX, |plan| plan.max_bytes);
        let room = usize::try_from(max.saturating_sub(self.size)).unwrap_or(usize::MAX).min(records.len());
        let end = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n').map(|last| last + 1);
        let first = records.iter().position(|byte| *byte == b'\n').map_or(records.len(), |last| last + 1);
        end(&records[..room]).unwrap_or(first)
    }

    fn append(&mut self, records: &[u8]) -> io::Result<()> {
        let Some(plan) = &self.plan else { return Ok(()) };
        let length = records.len() as u64;
        if self.size > 0 && self.size + length > plan.max_bytes {
            self.file = None;
            put_aside(&plan.path, plan.max_files)?;
        }
        if self.file.is_none() {
            let file = open(&plan.path)?;
            self.size = file.metadata()?.len();
            self.file = Some(file);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write_all(records)?;
        self.size += length;
        Ok(())
    }

    /// Takes back a part of a record that was written before the disk was full.
    fn undo(&mut self) {
        let cut = self.file.as_ref().map(|file| file.set_len(self.size));
        if !matches!(cut, Some(Ok(()))) {
            // Opened anew the next time, wherever it ends then.
            self.file = None;
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    File::options().append(true).create(true).mode(0o640).open(path)
}

/// `x.log` becomes `x.log.1`, that becomes `x.log.2`, and the last one goes.
fn put_aside(path: &Path, max_files: u32) -> io::Result<()> {
    for number in (0..max_files.saturating_sub(1)).rev() {
        let (from, to) = (aside(path, number), aside(path, number + 1));
        match fs::rename(from, to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    if max_files <= 1 { fs::remove_file(path) } else { Ok(()) }
}

/// What a file is called that was put aside so many times.
pub(crate) fn aside(path: &Path, number: u32) -> PathBuf {
    if number == 0 { path.to_owned() } else { PathBuf::from(format!("{}.{number}", path.display())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: &str = "2026-11-15T12:00:00Z";

    fn noon() -> Timestamp {
        NOON.parse().unwrap()
    }

    fn text(records: Vec<u8>) -> String {
        String::from_utf8(records).unwrap()
    }

    #[test]
    fn lines_are_recorded_when_they_are_whole() {
        let mut lines = Lines::new("stdout");
        assert_eq!(text(lines.feed(b"he", noon())), "");
        assert_eq!(
            text(lines.feed(b"llo\n\nworld", noon())),
            "2026-11-15T12:00:00.000000000Z stdout F hello\n2026-11-15T12:00:00.000000000Z stdout F \n"
        );
        assert_eq!(text(lines.finish(noon())), "2026-11-15T12:00:00.000000000Z stdout P world\n");
        assert_eq!(text(lines.finish(noon())), "");
    }

    #[test]
    fn long_lines_are_cut_into_parts_that_add_up() {
        let mut lines = Lines::new("stderr");
        let long = vec![b'x'; 2 * LINE + 7];
        let mut records = text(lines.feed(&long, noon()));
        records.push_str(&text(lines.feed(b"\n", noon())));
        let parts: Vec<(&str, usize)> = records
            .lines()
            .map(|line| line.strip_prefix("2026-11-15T12:00:00.000000000Z stderr ").unwrap())
            .map(|rest| (&rest[..1], rest.len() - 2))
            .collect();
        assert_eq!(parts, [("P", LINE), ("P", LINE), ("F", 7)]);
    }

    #[test]
    fn full_files_are_put_aside_and_the_oldest_goes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pod").join("0.log");
        let mut log = LogFile::new(Some(Log { path: path.clone(), max_bytes: 8, max_files: 3 }));
        for record in ["aaaa\n", "bbb\n", "cccccc\n", "dddddd\n"] {
            log.write(record.as_bytes());
        }
        let read = |name: &str| fs::read_to_string(path.with_file_name(name)).unwrap();
        assert_eq!([read("0.log"), read("0.log.1"), read("0.log.2")], ["dddddd\n", "cccccc\n", "bbb\n"]);
        assert!(!path.with_file_name("0.log.3").exists());
        assert_eq!(log.lost(), 0);
    }

    #[test]
    fn what_cannot_be_written_is_counted_and_later_lines_are_written_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("0.log");
        fs::create_dir(&path).unwrap();
        let mut log = LogFile::new(Some(Log { path: path.clone(), max_bytes: 100, max_files: 2 }));
        log.write(b"lost\n");
        fs::remove_dir(&path).unwrap();
        log.write(b"kept\n");
        assert_eq!((log.lost(), fs::read_to_string(&path).unwrap().as_str()), (5, "kept\n"));
    }
}
