//! Times as text: RFC 3339 in UTC, to the second or finer. A calendar of thirty lines instead of a library.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY: i64 = 86_400;

/// `2026-11-16T10:33:42Z`.
pub(crate) fn seconds(at: i64) -> String {
    let (year, month, day) = date(at.div_euclid(DAY));
    let rest = at.rem_euclid(DAY);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// `2026-11-16T10:33:42.123Z`.
pub(crate) fn milliseconds(at: SystemTime) -> String {
    let since = since_epoch(at);
    let text = seconds(i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
    format!("{}.{:03}Z", text.trim_end_matches('Z'), since.subsec_millis())
}

/// Seconds since 1970, as tokens count them.
pub(crate) fn unix_now() -> u64 {
    since_epoch(SystemTime::now()).as_secs()
}

fn since_epoch(at: SystemTime) -> Duration {
    at.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The day of the proleptic Gregorian calendar, by counting from the first of March of a year that 400 divides, so that the day
/// that leap years add is the last of its year.
fn date(days: i64) -> (i64, i64, i64) {
    let from_march = days + 719_468;
    let era = from_march.div_euclid(146_097);
    let of_era = from_march.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_moments_are_written_as_everybody_writes_them() {
        assert_eq!(seconds(0), "1970-01-01T00:00:00Z");
        assert_eq!(seconds(951_826_154), "2000-02-29T12:09:14Z");
        assert_eq!(seconds(1_794_825_222), "2026-11-16T10:33:42Z");
        assert_eq!(seconds(-1), "1969-12-31T23:59:59Z");
        assert_eq!(milliseconds(UNIX_EPOCH + Duration::from_millis(1_005)), "1970-01-01T00:00:01.005Z");
    }

    proptest! {
        /// The library for dates of HTTP goes by another way.
        #[test]
        fn days_are_those_of_another_calendar(at in 0_i64..253_402_300_799) {
            let text = seconds(at);
            let http = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(at.unsigned_abs()));
            prop_assert_eq!(&text[..4], &http[12..16]);
            prop_assert_eq!(&text[8..10], &http[5..7]);
            prop_assert_eq!(&text[11..19], &http[17..25]);
        }
    }
}
