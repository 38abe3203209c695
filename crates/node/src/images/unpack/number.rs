//! Numbers in decimal, as extra headers of archives write them.

/// Seconds and nanoseconds since 1970, which may be before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Time {
    pub(super) seconds: i64,
    pub(super) nanoseconds: u32,
}

pub(super) fn natural(text: &[u8]) -> Option<u64> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

/// `-1.5` is a second and a half before 1970.
pub(super) fn time(text: &[u8]) -> Option<Time> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = whole.parse().ok()?;
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let nanoseconds: u32 = digits.parse().ok()?;
    if whole.starts_with('-') && nanoseconds > 0 {
        return Some(Time { seconds: seconds.checked_sub(1)?, nanoseconds: 1_000_000_000 - nanoseconds });
    }
    Some(Time { seconds, nanoseconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_may_be_fractions_and_before_the_epoch() {
        let at = |seconds, nanoseconds| Some(Time { seconds, nanoseconds });
        assert_eq!(time(b"12"), at(12, 0));
        assert_eq!(time(b"12.5"), at(12, 500_000_000));
        assert_eq!(time(b"12.1234567899"), at(12, 123_456_789));
        assert_eq!(time(b"-1.25"), at(-2, 750_000_000));
        assert_eq!(time(b"-0.25"), at(-1, 750_000_000));
        assert_eq!(time(b"1.x"), None);
        assert_eq!(time(b""), None);
    }

    #[test]
    fn numbers_are_digits_only() {
        assert_eq!(natural(b"42"), Some(42));
        for text in [&b""[..], b"-1", b"+1", b" 1", b"1x", b"99999999999999999999"] {
            assert_eq!(natural(text), None);
        }
    }
}
