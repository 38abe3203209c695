//! Amounts of resources, as Kubernetes writes them: `500m`, `1.5Gi`, `12e6`.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

/// An exact amount, and the way in which it was written.
#[derive(Clone, Debug, Default)]
pub struct Quantity {
    nanos: i128,
    notation: Notation,
    /// Kubernetes keeps the spelling of what it takes for canonical, and changes it only with the amount.
    kept: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Notation {
    /// `1k`
    #[default]
    Decimal,
    /// `1e3`
    Exponent,
    /// `1Ki`
    Binary,
}

const NANO: i128 = 1_000_000_000;
const MILLI: i128 = 1_000_000;

/// Binary amounts end at what fits into 64 bits.
const MOST_BINARY: i128 = i64::MAX as i128 * NANO;
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// More digits than this are no amount of anything, and would only cost time.
const MOST_DIGITS: usize = 36;

/// The parts of a number with a suffix.
struct Written<'a> {
    /// Without zeros in front
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

impl<'a> Written<'a> {
    fn split(text: &'a str) -> Option<Self> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let has_digits = !whole.is_empty() || !fraction.is_empty();
        has_digits.then(|| Self { whole: whole.trim_start_matches('0'), fraction, suffix })
    }

    /// All digits, without the point.
    fn value(&self) -> Option<i128> {
        let digits = format!("0{}{}", self.whole, self.fraction);
        if digits.len() > MOST_DIGITS { None } else { digits.parse().ok() }
    }

    /// Whether Kubernetes takes a spelling for canonical. It is a guess there, too, but one that clients can see.
    fn is_kept(&self, value: i128, scale: i32, notation: Notation) -> bool {
        if value == 0 || self.whole.len() + self.fraction.len() > 18 || scale < -9 {
            return false;
        }
        match notation {
            Notation::Binary => self.fraction.is_empty() && value & 7 != 0,
            Notation::Decimal | Notation::Exponent => {
                scale % 3 == 0 && value % 1000 != 0 && !self.whole.is_empty()
            }
        }
    }
}

impl Notation {
    /// Parts of one are not written in binary.
    fn without_binary(self) -> Self {
        if self == Self::Binary { Self::Decimal } else { self }
    }
}

impl Quantity {
    /// A quantity from a field: text, or a plain number.
    pub fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    /// None where the text is not a quantity, or one beyond what can be counted.
    pub fn parse(text: &str) -> Option<Self> {
        let written = Written::split(text)?;
        let (multiplier, exponent, notation) = interpret(written.suffix)?;
        let value = written.value()?;
        let scale = exponent.checked_sub(i32::try_from(written.fraction.len()).ok()?)?;
        let nanos = value.checked_mul(multiplier).and_then(|value| scaled(value, scale.checked_add(9)?));
        let nanos = match notation {
            Notation::Binary => nanos.unwrap_or(MOST_BINARY).min(MOST_BINARY),
            Notation::Decimal | Notation::Exponent => nanos?,
        };
        let nanos = if text.starts_with('-') { -nanos } else { nanos };
        let notation = if (1..NANO).contains(&nanos) { notation.without_binary() } else { notation };
        let is_kept = nanos.abs() != MOST_BINARY && written.is_kept(value, scale, notation);
        let kept = is_kept.then(|| text.to_owned());
        Some(Self { nanos, notation, kept })
    }

    pub fn is_positive(&self) -> bool {
        self.nanos > 0
    }

    /// How many of these there are, rounded up.
    pub fn whole(&self) -> i128 {
        rounded_up(self.nanos, NANO)
    }

    /// How many thousandths there are, rounded up.
    pub fn milli(&self) -> i128 {
        rounded_up(self.nanos, MILLI)
    }

    #[must_use]
    pub fn rounded_to_milli(self) -> Self {
        if self.nanos % MILLI == 0 {
            return self;
        }
        Self { nanos: self.milli() * MILLI, kept: None, ..self }
    }

    /// The sum, written like the first that is not zero.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let notation = if self.nanos == 0 { other.notation } else { self.notation };
        Self { nanos: self.nanos.saturating_add(other.nanos), notation, kept: None }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.nanos.partial_cmp(&other.nanos)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kept) = &self.kept {
            return formatter.write_str(kept);
        }
        let is_whole = self.nanos % NANO == 0;
        let whole = self.nanos / NANO;
        if self.notation == Notation::Binary && is_whole && !(-1023..=1023).contains(&whole) {
            return write_binary(formatter, whole);
        }
        write_decimal(formatter, self.nanos, self.notation)
    }
}

fn write_binary(formatter: &mut fmt::Formatter<'_>, mut whole: i128) -> fmt::Result {
    let mut suffix = "";
    for next in BINARY {
        if whole % 1024 != 0 {
            break;
        }
        (whole, suffix) = (whole / 1024, next);
    }
    write!(formatter, "{whole}{suffix}")
}

fn write_decimal(formatter: &mut fmt::Formatter<'_>, nanos: i128, notation: Notation) -> fmt::Result {
    if nanos == 0 {
        return formatter.write_str("0");
    }
    let (mut mantissa, mut exponent) = (nanos, -9);
    while mantissa % 1000 == 0 && (notation == Notation::Exponent || exponent < 18) {
        (mantissa, exponent) = (mantissa / 1000, exponent + 3);
    }
    let suffix = DECIMAL.iter().find(|(_, power)| *power == exponent).map_or("", |(suffix, _)| suffix);
    match notation {
        Notation::Exponent if exponent != 0 => write!(formatter, "{mantissa}e{exponent}"),
        _ => write!(formatter, "{mantissa}{suffix}"),
    }
}

/// Away from zero.
fn rounded_up(nanos: i128, unit: i128) -> i128 {
    nanos / unit + (nanos % unit).signum()
}

/// What a suffix multiplies with: a factor, and a power of ten.
fn interpret(suffix: &str) -> Option<(i128, i32, Notation)> {
    if let Some((_, power)) = DECIMAL.iter().find(|(known, _)| *known == suffix) {
        return Some((1, *power, Notation::Decimal));
    }
    if let Some(index) = BINARY.iter().position(|known| *known == suffix) {
        return Some((1 << (10 * (index + 1)), 0, Notation::Binary));
    }
    let power = suffix.strip_prefix(['e', 'E'])?;
    let is_plain = power.strip_prefix(['+', '-']).unwrap_or(power).bytes().all(|byte| byte.is_ascii_digit());
    Some((1, power.parse().ok().filter(|_| is_plain)?, Notation::Exponent))
}

/// `value * 10^power`, rounded up where that leaves a fraction.
fn scaled(value: i128, power: i32) -> Option<i128> {
    let factor = 10_i128.checked_pow(power.unsigned_abs());
    if power >= 0 {
        return if value == 0 { Some(0) } else { value.checked_mul(factor?) };
    }
    Some(factor.map_or(i128::from(value != 0), |factor| value / factor + i128::from(value % factor != 0)))
}
