//! The size of numbers. A whole number is compared with limits that are cut to whole ones, as Kubernetes does.

use serde_json::{Number, Value};

use super::finding::{Finding, Outcome};
use super::kind::known_format;
use crate::field::{Error, shown_float};
use crate::schema::path::Path;
use crate::schema::{Rules, Schema, Shape};

/// A number as Kubernetes holds it: what does not fit 64 bits is a float.
#[derive(Clone, Copy)]
pub(super) enum Numeral {
    Int(i64),
    Float(f64),
}

impl From<&Number> for Numeral {
    fn from(number: &Number) -> Self {
        number.as_i64().map_or_else(|| Self::Float(number.as_f64().unwrap_or(f64::NAN)), Self::Int)
    }
}

impl From<Numeral> for Value {
    fn from(numeral: Numeral) -> Self {
        match numeral {
            Numeral::Int(int) => int.into(),
            Numeral::Float(float) => float.into(),
        }
    }
}

/// Whether a number counts as an integer. Floats do up to 2^53, with a little tolerance.
pub(super) fn is_integral(number: &Number) -> bool {
    match Numeral::from(number) {
        Numeral::Int(_) => true,
        Numeral::Float(float) => is_whole(float),
    }
}

fn is_whole(float: f64) -> bool {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    if !float.is_finite() || float.abs() > LARGEST {
        return false;
    }
    let whole = float.trunc();
    float.fract() == 0.0 || (whole > 0.0 && (float - whole) / (float + whole) < 1e-9)
}

#[expect(clippy::cast_possible_truncation, reason = "a limit is cut to a whole number on purpose")]
pub(super) fn truncated(float: f64) -> i64 {
    float as i64
}

pub(super) fn check(schema: &Schema, number: &Number, path: &Path<'_>) -> Outcome {
    let value = Numeral::from(number);
    let range = Range::of(schema);
    let mut outcome = Outcome::matching();
    outcome.extend(range.problem(value, "Checked", path));
    let Some(rules) = schema.rules.as_deref() else { return outcome };
    if let Some(factor) = rules.multiple_of {
        let fits = range.problem(Numeral::Float(factor), "MultipleOf", path);
        let value = if fits.is_none() { value } else { value.widened() };
        outcome.extend(fits.into_iter().chain(multiple(value, factor, path)));
    }
    for bound in Bound::both(rules) {
        let fits = range.problem(Numeral::Float(bound.limit), bound.name, path);
        let value = if fits.is_none() { value } else { value.widened() };
        outcome.extend(fits.into_iter().chain(bound.broken(value, path)));
    }
    outcome
}

impl Numeral {
    fn widened(self) -> Self {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "Kubernetes compares as floats here")]
            Self::Int(int) => Self::Float(int as f64),
            float @ Self::Float(_) => float,
        }
    }
}

/// What a type and its format can hold.
struct Range<'a> {
    kind: &'static str,
    format: Option<&'a str>,
}

impl<'a> Range<'a> {
    fn of(schema: &'a Schema) -> Self {
        let kind = match schema.shape {
            Shape::Integer => "integer",
            Shape::Number => "number",
            _ => "",
        };
        Self { kind, format: known_format(schema).filter(|_| !kind.is_empty()) }
    }

    fn problem(&self, value: Numeral, what: &str, path: &Path<'_>) -> Option<Finding> {
        if self.holds(value) {
            return None;
        }
        let format =
            self.format.map_or_else(|| "(default format)".into(), |format| format!("with format {format}"));
        Some(Finding::nowhere(format!("{what} value must be of type {} {format} in {path}", self.kind)))
    }

    fn holds(&self, value: Numeral) -> bool {
        match (self.kind, self.format, value) {
            ("integer", Some("int32"), Numeral::Int(int)) => i32::try_from(int).is_ok(),
            ("integer", format, Numeral::Float(float)) => {
                let (least, most) = match format {
                    Some("int32") => (f64::from(i32::MIN), f64::from(i32::MAX)),
                    // The largest float below 2^63.
                    _ => (-9_223_372_036_854_775_808.0, 9_223_372_036_854_774_784.0),
                };
                float.fract() == 0.0 && (least..=most).contains(&float)
            }
            ("number", Some("float"), value) => match value.widened() {
                // Half a step above the largest of 32 bits is still rounded to it.
                Numeral::Float(float) => float.abs() < 3.402_823_567_797_336_6e38,
                Numeral::Int(_) => true,
            },
            _ => true,
        }
    }
}

fn multiple(value: Numeral, factor: f64, path: &Path<'_>) -> Option<Finding> {
    match value {
        Numeral::Int(int) => match truncated(factor) {
            factor @ ..=0 => Some(not_positive(factor.into(), &factor.to_string(), path)),
            factor => (int % factor != 0)
                .then(|| Finding::invalid(path, int, &format!("should be a multiple of {factor}"))),
        },
        Numeral::Float(_) if factor <= 0.0 => Some(not_positive(factor.into(), &shown_float(factor), path)),
        Numeral::Float(float) => {
            let quotient = if factor < 1.0 { 1.0 / factor * float } else { float / factor };
            let rule = format!("should be a multiple of {}", shown_float(factor));
            (!is_whole(quotient)).then(|| Finding::invalid(path, float, &rule))
        }
    }
}

fn not_positive(factor: Value, shown: &str, path: &Path<'_>) -> Finding {
    let detail = format!("factor MultipleOf declared for {path} must be positive: {shown}");
    let error = Error::invalid("", factor, "");
    Finding::with(path, error.problem, detail)
}

struct Bound {
    limit: f64,
    is_minimum: bool,
    is_exclusive: bool,
    name: &'static str,
}

impl Bound {
    fn both(rules: &Rules) -> impl Iterator<Item = Self> {
        let minimum = rules.minimum.map(|limit| Self {
            limit,
            is_minimum: true,
            is_exclusive: rules.exclusive_minimum,
            name: "Minimum boundary",
        });
        let maximum = rules.maximum.map(|limit| Self {
            limit,
            is_minimum: false,
            is_exclusive: rules.exclusive_maximum,
            name: "Maximum boundary",
        });
        minimum.into_iter().chain(maximum)
    }

    fn broken(&self, value: Numeral, path: &Path<'_>) -> Option<Finding> {
        let (order, limit) = match value {
            Numeral::Int(int) => {
                let limit = truncated(self.limit);
                (Some(int.cmp(&limit)), limit.to_string())
            }
            Numeral::Float(float) => (float.partial_cmp(&self.limit), shown_float(self.limit)),
        };
        let order = order?;
        let beyond = if self.is_minimum { order.is_lt() } else { order.is_gt() };
        let words = match (self.is_minimum, self.is_exclusive) {
            (true, false) => "greater than or equal to",
            (true, true) => "greater than",
            (false, false) => "less than or equal to",
            (false, true) => "less than",
        };
        let broken = beyond || (self.is_exclusive && order.is_eq());
        broken.then(|| Finding::invalid(path, value, &format!("should be {words} {limit}")))
    }
}
