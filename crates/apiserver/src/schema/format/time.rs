//! Formats of points and stretches of time.

use std::sync::LazyLock;

use jiff::civil::Date;
use regex::Regex;

static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$")
        .expect("the pattern is written here")
});

static STRETCH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)").expect("the pattern is written here"));

pub(super) fn is_date(text: &str) -> bool {
    let shaped = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    shaped && text.parse::<Date>().is_ok()
}

pub(super) fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(clock)) = (parts.next(), parts.next()) else { return false };
    let Some(found) = CLOCK.captures(clock) else { return false };
    is_date(date) && &found[1] <= "23" && &found[2] <= "59" && &found[3] <= "59"
}

/// Go's notation, such as `1h30m`, or numbers with the names of units, such as `3 weeks`.
pub(super) fn is_duration(text: &str) -> bool {
    is_go_duration(text) || is_worded_duration(text)
}

fn is_go_duration(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    if text == "0" {
        return true;
    }
    let mut rest = text;
    while !rest.is_empty() {
        let number = rest.find(|character: char| !character.is_ascii_digit() && character != '.');
        let Some((number, after)) = number.map(|at| rest.split_at(at)) else { return false };
        let is_number = number.matches('.').count() <= 1 && number.bytes().any(|byte| byte.is_ascii_digit());
        let unit = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"].into_iter().find_map(|unit| {
            let after = after.strip_prefix(unit)?;
            (!after.starts_with(|next: char| next.is_alphabetic())).then_some(after)
        });
        match unit.filter(|_| is_number) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    !text.is_empty()
}

/// One unit that is known is enough.
fn is_worded_duration(text: &str) -> bool {
    let exact = ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"];
    let prefixes = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
    let mut known = false;
    for found in STRETCH.captures_iter(text) {
        if found[1].parse::<i64>().is_err() {
            return false;
        }
        let unit = found[2].to_lowercase();
        known |= exact.contains(&unit.as_str()) || prefixes.iter().any(|prefix| unit.starts_with(prefix));
    }
    known
}
