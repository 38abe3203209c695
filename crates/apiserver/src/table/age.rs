//! How long ago something was, in the few letters that Kubernetes prints.

use jiff::Timestamp;
use serde_json::Value;

use super::reading::text;

const UNKNOWN: &str = "<unknown>";

/// The age of the object.
pub(super) fn of(object: &Value, now: Timestamp) -> String {
    since(text(object, "/metadata/creationTimestamp"), now)
}

/// The time since a moment, which may be missing.
pub(super) fn since(moment: &str, now: Timestamp) -> String {
    match moment.parse::<Timestamp>() {
        Ok(moment) => elapsed(moment, now),
        Err(_) => UNKNOWN.to_owned(),
    }
}

/// The same for what a custom resource says is a moment.
pub(super) fn since_unchecked(moment: &str, now: Timestamp) -> String {
    match moment.parse::<Timestamp>() {
        Ok(moment) => elapsed(moment, now),
        Err(_) if moment.is_empty() || moment == "null" => UNKNOWN.to_owned(),
        Err(_) => "<invalid>".to_owned(),
    }
}

/// Two or three significant figures. Clocks may differ by less than two seconds.
fn elapsed(moment: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(moment).as_secs();
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    match () {
        () if seconds < -1 => "<invalid>".to_owned(),
        () if seconds < 120 => format!("{}s", seconds.max(0)),
        () if minutes < 10 => two_figures(minutes, 'm', seconds % 60, 's'),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two_figures(hours, 'h', minutes % 60, 'm'),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two_figures(days, 'd', hours % 24, 'h'),
        () if years < 2 => format!("{days}d"),
        () if years < 8 => two_figures(years, 'y', days % 365, 'd'),
        () => format!("{years}y"),
    }
}

fn two_figures(large: i64, large_unit: char, small: i64, small_unit: char) -> String {
    match small {
        0 => format!("{large}{large_unit}"),
        small => format!("{large}{large_unit}{small}{small_unit}"),
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn ages_have_two_or_three_figures() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let minute = 60;
        let (hour, day) = (60 * minute, 24 * 60 * minute);
        let ages = [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (121, "2m1s"),
            (10 * minute - 1, "9m59s"),
            (10 * minute, "10m"),
            (3 * hour - 1, "179m"),
            (3 * hour, "3h"),
            (3 * hour + minute, "3h1m"),
            (8 * hour, "8h"),
            (2 * day - 1, "47h"),
            (2 * day, "2d"),
            (2 * day + hour, "2d1h"),
            (8 * day, "8d"),
            (2 * 365 * day - 1, "729d"),
            (2 * 365 * day, "2y"),
            (2 * 365 * day + day, "2y1d"),
            (8 * 365 * day, "8y"),
        ];
        for (seconds, age) in ages {
            let moment = now - SignedDuration::from_secs(seconds);
            assert_eq!(since(&moment.to_string(), now), age, "{seconds} seconds");
        }
        assert_eq!(since("", now), "<unknown>");
        assert_eq!(since_unchecked("soon", now), "<invalid>");
    }
}
