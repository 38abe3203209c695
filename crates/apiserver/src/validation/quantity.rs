//! Amounts as Kubernetes writes them: a number with a decimal or binary suffix. Compared exactly, and shown in the one
//! form that its server brings every amount into.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

/// An amount, in billionths, and the family of suffixes that it was written with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    nano: i128,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Decimal,
    Binary,
    Exponent,
}

const NANO: i128 = 1_000_000_000;
/// More than any amount that fits into 64 bits, and little enough to add two of them.
const MOST: i128 = i128::MAX / 4;
const DECIMAL: [(&str, u32); 10] =
    [("n", 0), ("u", 3), ("m", 6), ("", 9), ("k", 12), ("M", 15), ("G", 18), ("T", 21), ("P", 24), ("E", 27)];
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

impl Quantity {
    pub(crate) const ZERO: Self = Self { nano: 0, format: Format::Decimal };

    /// An amount is written as text, or as a plain number.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let (format, scale) = Scale::of(suffix)?;
        let nano = scale.apply(whole, fraction);
        Some(Self { nano: if negative { -nano } else { nano }, format })
    }

    pub(crate) fn is_negative(self) -> bool {
        self.nano < 0
    }

    pub(crate) fn is_zero(self) -> bool {
        self.nano == 0
    }

    /// Whether it is a whole number of units, after rounding up to thousandths.
    pub(crate) fn is_whole(self) -> bool {
        divided_up(self.nano, NANO / 1000) % 1000 == 0
    }

    /// In whole units, rounded away from zero.
    pub(crate) fn value(self) -> i128 {
        divided_up(self.nano, NANO)
    }

    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        let format = if self.nano == 0 { other.format } else { self.format };
        Self { nano: self.nano.saturating_add(other.nano).clamp(-MOST, MOST), format }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.nano.partial_cmp(&other.nano)
    }
}

/// What a suffix multiplies by.
enum Scale {
    /// Ten to this power, in billionths
    Ten(i32),
    /// Two to this power
    Two(u32),
}

impl Scale {
    fn of(suffix: &str) -> Option<(Format, Self)> {
        if let Some(power) = BINARY.iter().position(|known| *known == suffix) {
            return Some((Format::Binary, Self::Two(10 * (u32::try_from(power).ok()? + 1))));
        }
        if let Some((_, power)) = DECIMAL.iter().find(|(known, _)| *known == suffix) {
            return Some((Format::Decimal, Self::Ten(i32::try_from(*power).ok()?)));
        }
        let digits = suffix.strip_prefix(['e', 'E'])?;
        let exponent: i32 = digits.parse().ok()?;
        Some((Format::Exponent, Self::Ten(exponent.clamp(-1000, 1000) + 9)))
    }

    /// The digits times the scale, in billionths and rounded up, however many digits there are.
    fn apply(&self, whole: &str, fraction: &str) -> i128 {
        let mut digits: String = whole.trim_start_matches('0').chars().chain(fraction.chars()).collect();
        let mut power = -i64::try_from(fraction.len()).unwrap_or(i64::MAX);
        let mut factor = 1;
        match self {
            Self::Ten(exponent) => power += i64::from(*exponent),
            Self::Two(exponent) => {
                power += 9;
                factor = 1_i128 << exponent;
            }
        }
        if digits.is_empty() {
            return 0;
        }
        let mut rest = false;
        // What stands below a billionth only counts as a reason to round up. Where a binary suffix follows, that is done
        // after multiplying, so keep as many digits as fit.
        while power < 0 && (factor == 1 || digits.len() > 18) {
            rest |= digits.pop().is_some_and(|digit| digit != '0');
            power += 1;
            if digits.is_empty() {
                return i128::from(rest);
            }
        }
        let mut nano: i128 = digits.parse().unwrap_or(MOST);
        nano = nano.saturating_mul(factor).min(MOST);
        while power > 0 && nano != 0 && nano < MOST {
            nano = nano.saturating_mul(10).min(MOST);
            power -= 1;
        }
        while power < 0 {
            rest |= nano % 10 != 0;
            nano /= 10;
            power += 1;
        }
        if rest { nano + 1 } else { nano }
    }
}

fn divided_up(amount: i128, by: i128) -> i128 {
    let rounded = amount.unsigned_abs().div_ceil(by.unsigned_abs()).cast_signed();
    if amount < 0 { -rounded } else { rounded }
}

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nano == 0 {
            return formatter.write_str("0");
        }
        let whole = self.nano % NANO == 0;
        if self.format == Format::Binary && whole && (self.nano / NANO).abs() >= 1024 {
            let (number, times) = without_factors(self.nano / NANO, 1024, BINARY.len());
            let suffix = times.checked_sub(1).map_or("", |index| BINARY[index]);
            return write!(formatter, "{number}{suffix}");
        }
        let (number, thousands) = without_factors(self.nano, 1000, usize::MAX);
        match (self.format, DECIMAL.get(thousands)) {
            (Format::Decimal | Format::Binary, Some((suffix, _))) => write!(formatter, "{number}{suffix}"),
            _ if thousands == 3 => write!(formatter, "{number}"),
            _ => write!(formatter, "{number}e{}", i64::try_from(thousands).unwrap_or(0) * 3 - 9),
        }
    }
}

/// The number without factors of a base, and how often it had that factor.
fn without_factors(mut number: i128, base: i128, most: usize) -> (i128, usize) {
    let mut times = 0;
    while times < most && number.abs() >= base && number % base == 0 {
        number /= base;
        times += 1;
    }
    (number, times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        Quantity::parse(text).map_or("nothing".into(), |quantity| quantity.to_string())
    }

    #[test]
    fn amounts_are_shown_in_one_form() {
        let forms = [
            ("1", "1"),
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1.5Gi", "1536Mi"),
            ("1024Ki", "1Mi"),
            ("1000Ki", "1000Ki"),
            ("512", "512"),
            ("100Mi", "100Mi"),
            ("1e3", "1e3"),
            ("1500", "1500"),
            ("12000", "12k"),
            ("-1", "-1"),
            ("0", "0"),
            ("0.1Ki", "102400m"),
            ("1n", "1n"),
            ("0.1n", "1n"),
        ];
        for (text, expected) in forms {
            assert_eq!(shown(text), expected, "of {text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_nothing() {
        for text in ["", "x", "1.2.3", "1 Gi", "Gi", "-", "1KI", "1e", "."] {
            assert_eq!(shown(text), "nothing", "of {text}");
        }
    }

    #[test]
    fn amounts_beyond_all_bounds_do_not_overflow() {
        let digits = "9".repeat(400);
        for text in
            [format!("{digits}Ei"), format!("-{digits}E"), format!("0.{digits}Ki"), "9e999999999".into()]
        {
            let quantity = Quantity::parse(&text);
            assert!(quantity.is_none_or(|quantity| quantity.plus(quantity).value() != 1));
        }
    }

    #[test]
    fn amounts_are_compared_by_what_they_mean() {
        let parse = |text| Quantity::parse(text).unwrap();
        assert!(parse("1Gi") > parse("1G"));
        assert!(parse("1000m") == parse("1"));
        assert!(!parse("1500m").is_whole() && parse("2").is_whole());
        assert_eq!(parse("1500m").value(), 2);
    }
}
