//! One record of a log: `<time> stdout|stderr F|P <text>`.

use crate::streams::LogStream;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) time: &'a str,
    pub(super) stream: LogStream,
    /// Whether its line ends with it.
    pub(super) whole: bool,
    pub(super) text: &'a [u8],
}

impl<'a> Record<'a> {
    /// Without its line end. Nothing for what is no record: a disk that was full may leave such.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        let mut parts = line.splitn(4, |byte| *byte == b' ');
        let time = std::str::from_utf8(parts.next()?).ok()?;
        let stream = match parts.next()? {
            b"stdout" => LogStream::Stdout,
            b"stderr" => LogStream::Stderr,
            _ => return None,
        };
        let whole = match parts.next()? {
            b"F" => true,
            b"P" => false,
            _ => return None,
        };
        Some(Self { time, stream, whole, text: parts.next()? })
    }

    pub(super) fn is_of(&self, stream: LogStream) -> bool {
        stream == LogStream::All || stream == self.stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_four_parts_of_which_the_last_may_have_blanks() {
        let record = Record::parse(b"2026-11-15T12:00:00.000000000Z stderr P a b ").unwrap();
        assert_eq!((record.stream, record.whole, record.text), (LogStream::Stderr, false, &b"a b "[..]));
        assert_eq!(record.time, "2026-11-15T12:00:00.000000000Z");
        assert!(record.is_of(LogStream::All) && !record.is_of(LogStream::Stdout));
        assert_eq!(Record::parse(b"t stdout F ").unwrap().text, b"");
    }

    #[test]
    fn what_is_no_record_is_none() {
        for line in ["", "t stdout", "t stdout F", "t stdin F x", "t stdout X x"] {
            assert_eq!(Record::parse(line.as_bytes()), None, "{line:?}");
        }
    }
}
