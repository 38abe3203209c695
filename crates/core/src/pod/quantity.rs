//! Amounts of resources as Kubernetes writes them: `500m`, `1.5Gi`, `2e3`.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// Billionths, the finest that Kubernetes counts: every amount it takes fits.
const NANO: i128 = 1_000_000_000;

/// Whole units, rounded up: bytes, Pods, devices.
pub fn units(quantity: &Quantity) -> i64 {
    rounded_up(nanos(&quantity.0).unwrap_or_default(), NANO)
}

/// Thousandths, rounded up: how processors are counted.
pub fn thousandths(quantity: &Quantity) -> i64 {
    rounded_up(nanos(&quantity.0).unwrap_or_default(), NANO / 1000)
}

/// The amount in the unit in which a resource is counted.
pub fn counted(resource: &str, quantity: &Quantity) -> i64 {
    if resource == "cpu" { thousandths(quantity) } else { units(quantity) }
}

fn rounded_up(nanos: i128, unit: i128) -> i64 {
    let whole = nanos.div_euclid(unit) + i128::from(nanos.rem_euclid(unit) != 0);
    i64::try_from(whole).unwrap_or(if whole < 0 { i64::MIN } else { i64::MAX })
}

/// Nothing for a text that is no amount; the API server takes none such.
pub fn nanos(text: &str) -> Option<i128> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end =
        text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (numerator, denominator) = scale(suffix)?;
    let nanos = decimal(number)?.checked_mul(numerator)?;
    Some(sign * (nanos / denominator + i128::from(nanos % denominator != 0)))
}

/// A decimal number in billionths; digits beyond count as one more.
fn decimal(number: &str) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let beyond = fraction.chars().skip(9).any(|digit| digit != '0');
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    whole.checked_mul(NANO)?.checked_add(digits.parse::<i128>().ok()?)?.checked_add(i128::from(beyond))
}

/// What a suffix multiplies by, and divides by.
fn scale(suffix: &str) -> Option<(i128, i128)> {
    let scale = match suffix {
        "" => (1, 1),
        "n" => (1, 1_000_000_000),
        "u" => (1, 1_000_000),
        "m" => (1, 1_000),
        "k" => (1_000, 1),
        "M" => (1_000_000, 1),
        "G" => (1_000_000_000, 1),
        "T" => (1_000_000_000_000, 1),
        "P" => (1_000_000_000_000_000, 1),
        "E" => (1_000_000_000_000_000_000, 1),
        "Ki" => (1 << 10, 1),
        "Mi" => (1 << 20, 1),
        "Gi" => (1 << 30, 1),
        "Ti" => (1 << 40, 1),
        "Pi" => (1 << 50, 1),
        "Ei" => (1 << 60, 1),
        exponent => power(exponent.strip_prefix(['e', 'E'])?.parse().ok()?)?,
    };
    Some(scale)
}

fn power(exponent: i32) -> Option<(i128, i128)> {
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    Some(if exponent < 0 { (1, power) } else { (power, 1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_kubernetes_writes_them() {
        for (text, expected) in [
            ("1", 1),
            ("0.5", 1),
            ("1500m", 2),
            ("1Ki", 1024),
            ("1.5Gi", 1_610_612_736),
            ("2e3", 2000),
            ("5E", 5_000_000_000_000_000_000),
            ("12E-1", 2),
            (".5k", 500),
            ("-3", -3),
        ] {
            assert_eq!(units(&Quantity(text.to_owned())), expected, "{text}");
        }
        assert_eq!(thousandths(&Quantity("0.1".to_owned())), 100);
        assert_eq!(thousandths(&Quantity("100u".to_owned())), 1);
    }

    #[test]
    fn what_is_no_amount_is_nothing_and_too_much_is_the_most() {
        for text in ["", ".", "x", "1x", "1e", "--1", "9e99"] {
            assert_eq!(nanos(text), None, "{text}");
        }
        assert_eq!(units(&Quantity("100E".to_owned())), i64::MAX);
    }
}
