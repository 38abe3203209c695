//! Which part of a file a `Range` header asks for. One range at a time; a request for several gets the whole, which is allowed.

/// What to send of so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    /// From the first up to and including the last.
    Some {
        first: u64,
        last: u64,
    },
    /// The file has no such bytes.
    None,
}

pub(crate) fn part(header: Option<&str>, size: u64) -> Part {
    let Some(range) = header.and_then(|header| header.trim().strip_prefix("bytes=")) else {
        return Part::Whole;
    };
    let Some((first, last)) = range.split_once('-') else { return Part::Whole };
    match (first.trim(), last.trim()) {
        ("", last) => number(last).map_or(Part::Whole, |count| tail(count, size)),
        (first, "") => number(first).map_or(Part::Whole, |first| between(first, u64::MAX, size)),
        (first, last) => match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => between(first, last, size),
            _ => Part::Whole,
        },
    }
}

fn between(first: u64, last: u64, size: u64) -> Part {
    match size.checked_sub(1) {
        Some(end) if first <= end => Part::Some { first, last: last.min(end) },
        _ => Part::None,
    }
}

fn tail(count: u64, size: u64) -> Part {
    if count == 0 || size == 0 {
        return Part::None;
    }
    Part::Some { first: size.saturating_sub(count), last: size - 1 }
}

/// Digits only: `+1` is a number to Rust and not to HTTP.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asked(header: &str) -> Part {
        part(Some(header), 10)
    }

    #[test]
    fn ranges_are_read_as_http_has_them() {
        assert_eq!(asked("bytes=0-4"), Part::Some { first: 0, last: 4 });
        assert_eq!(asked("bytes=4-"), Part::Some { first: 4, last: 9 });
        assert_eq!(asked("bytes=-3"), Part::Some { first: 7, last: 9 });
        assert_eq!(asked("bytes=-30"), Part::Some { first: 0, last: 9 });
        assert_eq!(asked("bytes=9-99"), Part::Some { first: 9, last: 9 });
    }

    #[test]
    fn what_is_not_there_cannot_be_had() {
        assert_eq!(asked("bytes=10-"), Part::None);
        assert_eq!(asked("bytes=-0"), Part::None);
        assert_eq!(part(Some("bytes=0-"), 0), Part::None);
        assert_eq!(part(Some("bytes=-5"), 0), Part::None);
    }

    #[test]
    fn what_is_no_single_range_gets_the_whole() {
        for header in ["bytes=0-1,3-4", "bytes=4-1", "bytes=", "bytes=a-b", "lines=1-2", "bytes=+1-2", "0-1"]
        {
            assert_eq!(asked(header), Part::Whole, "{header}");
        }
        assert_eq!(part(None, 10), Part::Whole);
    }

    proptest! {
        #[test]
        fn a_part_is_never_outside(header in "bytes=[0-9,-]{0,30}|.*", size in any::<u64>()) {
            if let Part::Some { first, last } = part(Some(&header), size) {
                prop_assert!(first <= last && last < size);
            }
        }
    }
}
