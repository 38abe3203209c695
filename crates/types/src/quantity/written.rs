//! A quantity as it was written, taken apart. Follows Kubernetes to the letter: what it takes for a quantity, and what
//! it keeps as it was sent.

use super::Notation;

/// Why a text is no quantity.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    #[error("unable to parse numeric part of quantity")]
    Number,
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// Sign, digits before and after the point, and what the suffix stands for.
pub(super) struct Written<'a> {
    pub negative: bool,
    pub whole: &'a str,
    pub fraction: &'a str,
    /// A power of ten, or of two where the notation is binary.
    pub exponent: i32,
    pub notation: Notation,
}

/// Numbers with at most as many digits are not rewritten if they look canonical.
const SHORT: i32 = 18;

/// Suffixes of powers of a thousand, from billionths on.
pub(super) const THOUSANDS: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// Suffixes of powers of 1024.
pub(super) const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

impl<'a> Written<'a> {
    pub(super) fn split(text: &'a str) -> Result<Self, Error> {
        if text.is_empty() {
            return Err(Error::Format);
        }
        let (negative, rest) = match text.as_bytes()[0] {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, rest) = digits(rest.trim_start_matches('0'));
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), digits);
        let (exponent, notation) = meaning(suffix)?;
        Ok(Self { negative, whole: if whole.is_empty() { "0" } else { whole }, fraction, exponent, notation })
    }

    /// Whether the number is short and its text the canonical one, or near enough for Kubernetes to keep it.
    pub(super) fn is_kept(&self) -> Result<bool, Error> {
        if self.notation == Notation::Binary {
            return self.is_kept_binary();
        }
        let digits = i64::from(length(self.whole)) + i64::from(length(self.fraction));
        let scale = i64::from(self.exponent) - i64::from(length(self.fraction));
        if digits > i64::from(SHORT) || scale < -9 {
            return Ok(false);
        }
        let shifted = format!("{}{}", self.whole, self.fraction);
        Ok(scale % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0'))
    }

    fn is_kept_binary(&self) -> Result<bool, Error> {
        // One digit for each three or so powers of two, by the estimate that Kubernetes makes.
        let precision = 15_i64 - i64::from(length(self.whole)) - i64::from(self.exponent * 3 / 10) - 1;
        if precision < 0 || !self.fraction.is_empty() {
            return Ok(false);
        }
        let value: i64 = self.whole.parse().map_err(|_| Error::Number)?;
        Ok(value & 7 != 0 && value.checked_mul(1 << self.exponent).is_some())
    }
}

fn length(digits: &str) -> i32 {
    i32::try_from(digits.len()).unwrap_or(i32::MAX)
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|next: char| !next.is_ascii_digit()).unwrap_or(text.len()))
}

fn meaning(suffix: &str) -> Result<(i32, Notation), Error> {
    let letters = suffix.trim_start_matches(|next: char| "eEinumkKMGTP".contains(next));
    let rest = letters.strip_prefix(['-', '+']).unwrap_or(letters);
    if !rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::Format);
    }
    if let Some(power) = place(&THOUSANDS, suffix) {
        return Ok((3 * power - 9, Notation::Decimal));
    }
    if let Some(power) = place(&BINARY, suffix) {
        return Ok((10 * power, Notation::Binary));
    }
    let exponent = suffix.strip_prefix(['e', 'E']).and_then(|digits| digits.parse::<i64>().ok());
    Ok((low_half(exponent.ok_or(Error::Suffix)?), Notation::Exponent))
}

fn place(suffixes: &[&str], suffix: &str) -> Option<i32> {
    suffixes.iter().position(|known| *known == suffix).and_then(|place| i32::try_from(place).ok())
}

/// Kubernetes reads an exponent in 64 bits and keeps 32 of them.
fn low_half(exponent: i64) -> i32 {
    let [a, b, c, d, ..] = exponent.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}
