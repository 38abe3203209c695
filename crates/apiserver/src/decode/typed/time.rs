//! Times as Kubernetes reads and writes them: RFC 3339 in, the same instant in UTC out. Seconds for most, microseconds
//! for leases and events. What is no time is refused in Go's words.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

/// How fine a time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Seconds,
    Micros,
}

/// The first instant of year one, which Go takes for no time at all.
const NOTHING: i64 = -62_135_596_800;
/// The seconds that can be written with four digits for the year.
const WRITABLE: RangeInclusive<i64> = -62_167_219_200..=253_402_300_799;
const DAY: i64 = 86_400;
/// Years repeat after so many days.
const FOUR_CENTURIES: i64 = 146_097;

impl Precision {
    fn layout(self) -> &'static str {
        match self {
            Precision::Seconds => "2006-01-02T15:04:05Z07:00",
            Precision::Micros => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

/// The time in UTC, or nothing where it is the one that stands for none.
pub(crate) fn canonical(text: &str, precision: Precision) -> Result<Option<String>, String> {
    let (seconds, nanos) = Parser { text, rest: text, precision }.instant()?;
    Ok(written(seconds, nanos, precision))
}

/// A time by its seconds since 1970 and the nanoseconds after them.
pub(crate) fn written(seconds: i64, nanos: i64, precision: Precision) -> Option<String> {
    let seconds = seconds.saturating_add(nanos.div_euclid(1_000_000_000));
    let nanos = nanos.rem_euclid(1_000_000_000);
    if !WRITABLE.contains(&seconds) || (seconds == NOTHING && nanos == 0) {
        return None;
    }
    let (year, month, day) = date(seconds.div_euclid(DAY));
    let second = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let time = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    Some(match precision {
        Precision::Seconds => format!("{time}Z"),
        Precision::Micros => format!("{time}.{:06}Z", nanos / 1000),
    })
}

/// The date so many days after the first of 1970. Years are counted from March, so that a leap day ends its year.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (cycle, day) = (days.div_euclid(FOUR_CENTURIES), days.rem_euclid(FOUR_CENTURIES));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + 400 * cycle + i64::from(month <= 2), month, day)
}

/// The inverse.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (cycle, year) = (year.div_euclid(400), year.rem_euclid(400));
    let month = if month > 2 { month - 3 } else { month + 9 };
    let day = (153 * month + 2) / 5 + day - 1;
    cycle * FOUR_CENTURIES + 365 * year + year / 4 - year / 100 + day - 719_468
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    precision: Precision,
}

impl Parser<'_> {
    /// Seconds since 1970, and nanoseconds.
    fn instant(&mut self) -> Result<(i64, i64), String> {
        let days = self.days()?;
        self.literal("T")?;
        let seconds = self.seconds()?;
        let nanos = self.fraction()?;
        let offset = self.offset()?;
        if !self.rest.is_empty() {
            return Err(format!("parsing time {}: extra text: {}", quoted(self.text), quoted(self.rest)));
        }
        let days = days.ok_or_else(|| self.out_of_range("day"))?;
        let instant = days * DAY + seconds - offset * 60;
        if !WRITABLE.contains(&instant) {
            return Err(self.out_of_range("year"));
        }
        Ok((instant, nanos))
    }

    /// Nothing for a day that its month does not have, which Go notices last.
    fn days(&mut self) -> Result<Option<i64>, String> {
        let year = self.number(4, "2006")?;
        self.literal("-")?;
        let month = self.number(2, "01")?;
        self.range(month, 1..=12, "month")?;
        self.literal("-")?;
        let day = self.number(2, "02")?;
        let days = days(year, month, day);
        Ok((date(days) == (year, month, day)).then_some(days))
    }

    fn seconds(&mut self) -> Result<i64, String> {
        let hour = self.hour()?;
        self.range(hour, 0..=23, "hour")?;
        self.literal(":")?;
        let minute = self.number(2, "04")?;
        self.range(minute, 0..=59, "minute")?;
        self.literal(":")?;
        let second = self.number(2, "05")?;
        self.range(second, 0..=59, "second")?;
        Ok(hour * 3600 + minute * 60 + second)
    }

    /// Go takes an hour of one digit.
    fn hour(&mut self) -> Result<i64, String> {
        let second_is_digit = self.rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        self.number(if second_is_digit { 2 } else { 1 }, "15")
    }

    /// So many digits.
    fn number(&mut self, length: usize, element: &str) -> Result<i64, String> {
        let number = number(self.rest, 0..length).ok_or_else(|| self.unexpected(element))?;
        self.rest = &self.rest[length..];
        Ok(number)
    }

    fn literal(&mut self, literal: &str) -> Result<(), String> {
        self.rest = self.rest.strip_prefix(literal).ok_or_else(|| self.unexpected(literal))?;
        Ok(())
    }

    /// Digits after the second: as many as there are, or exactly six where the layout asks for them.
    fn fraction(&mut self) -> Result<i64, String> {
        let bytes = self.rest.as_bytes();
        let length = bytes.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
        let has_fraction = matches!(bytes.first(), Some(b'.' | b',')) && length > 0;
        let length = match self.precision {
            Precision::Micros if has_fraction && length >= 6 => 6,
            Precision::Micros => return Err(self.unexpected(".000000")),
            Precision::Seconds if has_fraction => length,
            Precision::Seconds => return Ok(0),
        };
        let digits: String = self.rest[1..=length].chars().chain("000000000".chars()).take(9).collect();
        self.rest = &self.rest[1 + length..];
        Ok(digits.parse().unwrap_or_default())
    }

    /// Minutes east of Greenwich.
    fn offset(&mut self) -> Result<i64, String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let bytes = self.rest.as_bytes();
        let sign = match bytes.first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Err(self.unexpected("Z07:00")),
        };
        let (hours, minutes) = (number(self.rest, 1..3), number(self.rest, 4..6));
        let (Some(hours), Some(b':'), Some(minutes)) = (hours, bytes.get(3), minutes) else {
            return Err(self.unexpected("Z07:00"));
        };
        self.range(hours, 0..=24, "time zone offset hour")?;
        self.range(minutes, 0..=60, "time zone offset minute")?;
        self.rest = &self.rest[6..];
        Ok(sign * (hours * 60 + minutes))
    }

    fn range(&self, value: i64, range: RangeInclusive<i64>, what: &str) -> Result<(), String> {
        if range.contains(&value) { Ok(()) } else { Err(self.out_of_range(what)) }
    }

    fn out_of_range(&self, what: &str) -> String {
        format!("parsing time {}: {what} out of range", quoted(self.text))
    }

    fn unexpected(&self, element: &str) -> String {
        let layout = self.precision.layout();
        let (text, rest) = (quoted(self.text), quoted(self.rest));
        format!("parsing time {text} as \"{layout}\": cannot parse {rest} as \"{element}\"")
    }
}

fn number(text: &str, range: std::ops::Range<usize>) -> Option<i64> {
    let digits = text.get(range)?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// Go's reader of times shows all that is not plain text by its bytes.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..0x80 => quoted.push(char::from(byte)),
            other => write!(quoted, "\\x{other:02x}").expect("text can always be added to"),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Result<Option<String>, String> {
        canonical(text, Precision::Seconds)
    }

    #[test]
    fn times_are_written_in_utc_to_the_second() {
        let cases = [
            ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"),
            ("2024-01-02T03:04:05+02:30", "2024-01-02T00:34:05Z"),
            ("2023-12-31T23:30:00-01:00", "2024-01-01T00:30:00Z"),
            ("2024-01-02T03:04:05.999Z", "2024-01-02T03:04:05Z"),
            ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59Z"),
            ("2024-02-29T1:00:00Z", "2024-02-29T01:00:00Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(seconds(text), Ok(Some(expected.to_owned())));
        }
        assert_eq!(seconds("0001-01-01T01:00:00+01:00"), Ok(None));
    }

    #[test]
    fn fine_times_have_six_digits_in_and_out() {
        let micros = |text| canonical(text, Precision::Micros);
        assert!(micros("2024-01-01T00:00:00.12345+01:00").is_err());
        assert_eq!(
            micros("2024-01-01T00:00:00.123456+01:00"),
            Ok(Some("2023-12-31T23:00:00.123456Z".into()))
        );
        assert_eq!(micros("1960-01-01T00:00:00.500000Z"), Ok(Some("1960-01-01T00:00:00.500000Z".into())));
    }

    /// Recorded from Go, which the real server parses times with.
    #[test]
    fn what_is_no_time_is_refused_in_the_words_of_go() {
        let cases = [
            ("x", r#" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#),
            ("2024-1-1", r#" as "2006-01-02T15:04:05Z07:00": cannot parse "1-1" as "01""#),
            ("2024-01-01 00:00:00Z", r#" as "2006-01-02T15:04:05Z07:00": cannot parse " 00:00:00Z" as "T""#),
            ("2024-13-01T00:00:00Z", ": month out of range"),
            ("2023-02-29T00:00:00Z", ": day out of range"),
            ("2024-01-01T24:00:00Z", ": hour out of range"),
            ("2024-01-01T00:00:00Zx", r#": extra text: "x""#),
            ("2024-01-01T00:00:00", r#" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00""#),
        ];
        for (text, expected) in cases {
            assert_eq!(seconds(text), Err(format!("parsing time \"{text}\"{expected}")));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_time_or_an_error(text in "\\PC{0,20}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{1,2}:[0-9]{2}:[0-9]{2}[.,0-9é]{0,9}[Z+:0-9é-]{0,7}") {
            for precision in [Precision::Seconds, Precision::Micros] {
                if let Ok(Some(written)) = canonical(&text, precision) {
                    proptest::prop_assert_eq!(canonical(&written, precision), Ok(Some(written)));
                }
            }
        }

        #[test]
        fn days_and_dates_are_each_others_inverse(day in -719_528_i64..2_932_896) {
            let (year, month, of_month) = date(day);
            proptest::prop_assert_eq!(days(year, month, of_month), day);
        }
    }
}
