//! What of a log is shown, and how: pure, record by record.

use jiff::Timestamp;

use super::record::Record;
use crate::streams::{LogOptions, LogStream};

#[derive(Clone, Debug)]
pub(super) struct Filter {
    since: Option<Timestamp>,
    stream: LogStream,
    timestamps: bool,
    /// Bytes that may still be shown.
    left: Option<u64>,
    /// The next record begins a line.
    at_start: bool,
}

impl Filter {
    pub(super) fn new(options: &LogOptions, since: Option<Timestamp>) -> Self {
        Self {
            since,
            stream: options.stream,
            timestamps: options.timestamps,
            left: options.limit_bytes,
            at_start: true,
        }
    }

    /// Whether nothing more will be shown.
    pub(super) fn is_done(&self) -> bool {
        self.left == Some(0)
    }

    /// Shows what is to be seen of a record.
    pub(super) fn show(&mut self, record: &Record<'_>, shown: &mut Vec<u8>) {
        if !record.is_of(self.stream) || self.is_too_old(record) {
            return;
        }
        let begin = shown.len();
        if self.timestamps && self.at_start {
            shown.extend_from_slice(record.time.as_bytes());
            shown.push(b' ');
        }
        shown.extend_from_slice(record.text);
        if record.whole {
            shown.push(b'\n');
        }
        self.at_start = record.whole;
        self.limit(begin, shown);
    }

    fn limit(&mut self, begin: usize, shown: &mut Vec<u8>) {
        let Some(left) = &mut self.left else { return };
        let room = usize::try_from(*left).unwrap_or(usize::MAX);
        shown.truncate(begin.saturating_add(room));
        *left -= (shown.len() - begin) as u64;
    }

    fn is_too_old(&self, record: &Record<'_>) -> bool {
        let Some(since) = self.since else { return false };
        // What does not say when it was written is shown.
        record.time.parse::<Timestamp>().is_ok_and(|time| time < since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDS: &[&str] = &[
        "2026-11-15T12:00:00.000000000Z stdout F one",
        "2026-11-15T12:00:01.000000000Z stderr F two",
        "2026-11-15T12:00:02.000000000Z stdout P thr",
        "2026-11-15T12:00:03.000000000Z stdout F ee",
    ];

    fn shown(options: &LogOptions) -> String {
        let mut filter = Filter::new(options, options.since_time);
        let mut shown = Vec::new();
        for record in RECORDS {
            filter.show(&Record::parse(record.as_bytes()).unwrap(), &mut shown);
        }
        String::from_utf8(shown).unwrap()
    }

    #[test]
    fn parts_of_a_line_are_put_together() {
        assert_eq!(shown(&LogOptions::default()), "one\ntwo\nthree\n");
    }

    #[test]
    fn one_stream_can_be_chosen() {
        let of = |stream| shown(&LogOptions { stream, ..LogOptions::default() });
        assert_eq!(of(LogStream::Stdout), "one\nthree\n");
        assert_eq!(of(LogStream::Stderr), "two\n");
    }

    #[test]
    fn what_was_written_before_is_left_out() {
        let since_time = Some("2026-11-15T12:00:01Z".parse().unwrap());
        assert_eq!(shown(&LogOptions { since_time, ..LogOptions::default() }), "two\nthree\n");
    }

    #[test]
    fn lines_begin_with_the_time_once() {
        assert_eq!(
            shown(&LogOptions { timestamps: true, ..LogOptions::default() }),
            "2026-11-15T12:00:00.000000000Z one\n2026-11-15T12:00:01.000000000Z two\n2026-11-15T12:00:02.000000000Z three\n"
        );
    }

    #[test]
    fn bytes_are_counted_as_they_are_shown() {
        assert_eq!(shown(&LogOptions { limit_bytes: Some(6), ..LogOptions::default() }), "one\ntw");
        let mut filter = Filter::new(&LogOptions { limit_bytes: Some(4), ..LogOptions::default() }, None);
        filter.show(&Record::parse(RECORDS[0].as_bytes()).unwrap(), &mut Vec::new());
        assert!(filter.is_done());
    }
}
