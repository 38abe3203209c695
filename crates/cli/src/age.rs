//! How long ago something was, and how long something takes, as people read and type it.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// The time since then, in the one or two units that matter: `42s`, `5m`, `3h12m`, `12d`.
pub(crate) fn since(then: Option<&Time>, now: Timestamp) -> String {
    then.map_or_else(|| "-".to_owned(), |then| short(now.duration_since(then.0).as_secs().max(0)))
}

pub(crate) fn short(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        ..120 => format!("{seconds}s"),
        120..600 => with(minutes, 'm', seconds % 60, 's'),
        600..7200 => format!("{minutes}m"),
        7200..36_000 => with(hours, 'h', minutes % 60, 'm'),
        36_000..172_800 => format!("{hours}h"),
        172_800..691_200 => with(days, 'd', hours % 24, 'h'),
        _ => format!("{days}d"),
    }
}

fn with(whole: i64, unit: char, rest: i64, smaller: char) -> String {
    if rest == 0 { format!("{whole}{unit}") } else { format!("{whole}{unit}{rest}{smaller}") }
}

/// A time as people type it: `30s`, `5m`, `1h30m`, `2d`; a plain number is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let problem = || "it must be a time such as 30s, 5m, 1h30m or 2d".to_owned();
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let (mut rest, mut total) = (text, Duration::ZERO);
    while !rest.is_empty() {
        let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.').ok_or_else(problem)?;
        let (number, after) = rest.split_at(end);
        let end = after.find(|it: char| it.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let factor = factor(unit).ok_or_else(problem)?;
        let seconds = number.parse::<f64>().map_err(|_| problem())? * factor;
        total += Duration::try_from_secs_f64(seconds).map_err(|_| problem())?;
        rest = after;
    }
    if text.is_empty() { Err(problem()) } else { Ok(total) }
}

fn factor(unit: &str) -> Option<f64> {
    match unit {
        "ms" => Some(0.001),
        "s" | "sec" => Some(1.0),
        "m" | "min" => Some(60.0),
        "h" => Some(3600.0),
        "d" => Some(86_400.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_the_units_that_matter() {
        let ages = [0, 119, 120, 185, 3600, 7200, 7260, 90_000, 180_000, 9_000_000].map(short);
        assert_eq!(ages, ["0s", "119s", "2m", "3m5s", "60m", "2h", "2h1m", "25h", "2d2h", "104d"]);
    }

    #[test]
    fn a_clock_that_is_behind_shows_no_negative_age() {
        let later = Time(Timestamp::from_second(10).unwrap());
        assert_eq!(since(Some(&later), Timestamp::UNIX_EPOCH), "0s");
        assert_eq!(since(None, Timestamp::UNIX_EPOCH), "-");
    }

    #[test]
    fn times_are_read_as_people_type_them() {
        let read = |text| duration(text).map(|time| time.as_millis());
        assert_eq!(
            ["30", "30s", "5m", "1h30m", "2d", "500ms", "1.5s"].map(|text| read(text).unwrap()),
            [30_000, 30_000, 300_000, 5_400_000, 172_800_000, 500, 1500]
        );
        for wrong in ["", "m", "5x", "1h5", "-5s", "five", "1..5s"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
