//! Amounts of resources, as Kubernetes writes them: `500m`, `1.5Gi`, `12e6`. Reads, compares and adds them, and writes
//! each in the one form that is stored. How a text is taken apart is in [`written`], the arithmetic in [`decimal`].

mod decimal;
mod written;

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

use decimal::Decimal;
pub use written::Error;
use written::Written;

/// The families of suffixes.
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

/// An amount in billionths, and the way in which it was written.
#[derive(Clone, Debug, Default)]
pub struct Quantity {
    nano: i128,
    notation: Notation,
    /// Kubernetes keeps the spelling of what it takes for canonical, and changes it only with the amount.
    kept: Option<String>,
}

/// A billion: the smallest amount is one part of it.
const NANO: i128 = 1_000_000_000;
const MILLI: i128 = 1_000_000;
/// More than any amount of anything, and little enough to add two of them.
const MOST: i128 = 10_i128.pow(37);

/// The text that Kubernetes stores for a quantity, however large it is.
pub fn canonical(text: &str) -> Result<String, Error> {
    let written = Written::split(text)?;
    if text == "0" || written.is_kept()? {
        return Ok(text.to_owned());
    }
    Ok(Decimal::of(&written).spelled(written.notation))
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

    /// None where the text is not a quantity. An amount beyond all bounds is the greatest that there is.
    pub fn parse(text: &str) -> Option<Self> {
        let written = Written::split(text).ok()?;
        let kept = written.is_kept().ok()?.then(|| text.to_owned());
        let nano = Decimal::of(&written).billionths().unwrap_or(MOST).min(MOST);
        let nano = if written.negative { -nano } else { nano };
        Some(Self { nano, notation: written.notation, kept })
    }

    pub fn is_zero(&self) -> bool {
        self.nano == 0
    }

    pub fn is_positive(&self) -> bool {
        self.nano > 0
    }

    pub fn is_negative(&self) -> bool {
        self.nano < 0
    }

    /// Whether it is a whole number of units, after rounding up to thousandths.
    pub fn is_whole(&self) -> bool {
        self.milli() % 1000 == 0
    }

    /// In whole units, rounded away from zero.
    pub fn whole(&self) -> i128 {
        rounded_up(self.nano, NANO)
    }

    /// As fine as it is kept.
    pub fn billionths(&self) -> i128 {
        self.nano
    }

    /// In thousandths, rounded away from zero.
    pub fn milli(&self) -> i128 {
        rounded_up(self.nano, MILLI)
    }

    /// Rounded up to thousandths, if it is finer.
    pub fn rounded_to_milli(self) -> Option<Self> {
        (self.nano % MILLI != 0).then(|| Self { nano: self.milli() * MILLI, kept: None, ..self })
    }

    /// The sum, written like the first that is not zero.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let notation = if self.is_zero() { other.notation } else { self.notation };
        let nano = self.nano.saturating_add(other.nano).clamp(-MOST, MOST);
        Self { nano, notation, kept: None }
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

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kept {
            Some(kept) => formatter.write_str(kept),
            None => formatter.write_str(&Decimal::of_billionths(self.nano).spelled(self.notation)),
        }
    }
}

fn rounded_up(nano: i128, unit: i128) -> i128 {
    nano / unit + (nano % unit).signum()
}

#[cfg(test)]
mod tests;
