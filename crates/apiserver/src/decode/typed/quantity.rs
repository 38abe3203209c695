//! Quantities: the numbers with suffixes that resources are measured in, and the one way to write each of them.
//! Follows Kubernetes to the letter: what it keeps as it was sent and what it rewrites, including where it rounds.

/// Why a text is no quantity.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    #[error("unable to parse numeric part of quantity")]
    Number,
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Decimal,
    Exponent,
    Binary,
}

/// A quantity taken apart: sign, digits before and after the point, and what the suffix stands for.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    /// A power of ten, or of two where the format is binary.
    exponent: i32,
    format: Format,
}

const NANO: i32 = -9;
/// Numbers with at most as many digits are not rewritten if they look canonical.
const FAST_DIGITS: i32 = 18;
const MAX: &[u8] = b"9223372036854775807";

/// The text that Kubernetes stores for a quantity.
pub(crate) fn canonical(text: &str) -> Result<String, Error> {
    if text == "0" {
        return Ok(text.to_owned());
    }
    let parts = parts(text)?;
    if parts.keeps_its_text()? {
        return Ok(text.to_owned());
    }
    Ok(parts.rewritten())
}

fn parts(text: &str) -> Result<Parts<'_>, Error> {
    if text.is_empty() {
        return Err(Error::Format);
    }
    let (negative, rest) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let rest = rest.trim_start_matches('0');
    let (whole, rest) = digits(rest);
    let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), digits);
    let (exponent, format) = suffix_of(suffix)?;
    Ok(Parts { negative, whole: if whole.is_empty() { "0" } else { whole }, fraction, exponent, format })
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|next: char| !next.is_ascii_digit()).unwrap_or(text.len()))
}

fn suffix_of(suffix: &str) -> Result<(i32, Format), Error> {
    let letters = suffix.trim_start_matches(|next: char| "eEinumkKMGTP".contains(next));
    let rest = letters.strip_prefix(['-', '+']).unwrap_or(letters);
    if !rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::Format);
    }
    let known = match suffix {
        "n" => (-9, Format::Decimal),
        "u" => (-6, Format::Decimal),
        "m" => (-3, Format::Decimal),
        "" => (0, Format::Decimal),
        "k" => (3, Format::Decimal),
        "M" => (6, Format::Decimal),
        "G" => (9, Format::Decimal),
        "T" => (12, Format::Decimal),
        "P" => (15, Format::Decimal),
        "E" => (18, Format::Decimal),
        "Ki" => (10, Format::Binary),
        "Mi" => (20, Format::Binary),
        "Gi" => (30, Format::Binary),
        "Ti" => (40, Format::Binary),
        "Pi" => (50, Format::Binary),
        "Ei" => (60, Format::Binary),
        other => {
            let exponent = other.strip_prefix(['e', 'E']).and_then(|digits| digits.parse::<i64>().ok());
            (low_half(exponent.ok_or(Error::Suffix)?), Format::Exponent)
        }
    };
    Ok(known)
}

/// Kubernetes reads an exponent in 64 bits and keeps 32 of them.
fn low_half(exponent: i64) -> i32 {
    let [a, b, c, d, ..] = exponent.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

impl Parts<'_> {
    /// Whether the number is short and its text the canonical one, or near enough for Kubernetes to keep it.
    fn keeps_its_text(&self) -> Result<bool, Error> {
        let length = |digits: &str| i32::try_from(digits.len()).unwrap_or(i32::MAX);
        if self.format == Format::Binary {
            // One digit for each three or so powers of two, by the estimate that Kubernetes makes.
            let precision = 15_i64 - i64::from(length(self.whole)) - i64::from(self.exponent * 3 / 10) - 1;
            if precision < 0 || !self.fraction.is_empty() {
                return Ok(false);
            }
            let value: i64 = self.whole.parse().map_err(|_| Error::Number)?;
            return Ok(value & 7 != 0 && value.checked_mul(1 << self.exponent).is_some());
        }
        let digits = i64::from(length(self.whole)) + i64::from(length(self.fraction));
        let scale = i64::from(self.exponent) - i64::from(length(self.fraction));
        if digits > i64::from(FAST_DIGITS) || scale < i64::from(NANO) {
            return Ok(false);
        }
        let shifted = format!("{}{}", self.whole, self.fraction);
        Ok(scale % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0'))
    }

    fn rewritten(&self) -> String {
        let mut number = Decimal::new(self);
        let mut format = self.format;
        if format == Format::Binary {
            number.multiply(1 << self.exponent);
        }
        number.round_up(NANO);
        if format == Format::Binary && number.exceeds(MAX) {
            number = Decimal { negative: self.negative, digits: MAX.to_vec(), exponent: 0 };
        }
        number.trim();
        if number.digits.is_empty() {
            return "0".into();
        }
        // A small or broken number is easier to read in tens.
        if format == Format::Binary && (number.exponent < 0 || !number.exceeds(b"1023")) {
            format = Format::Decimal;
        }
        match format {
            Format::Binary => number.in_powers_of_1024(),
            _ => number.in_powers_of_1000(format),
        }
    }
}

/// A decimal number of any length: digits without leading zeros, and how many zeros follow or places precede.
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    fn new(parts: &Parts) -> Self {
        let digits = format!("{}{}", parts.whole, parts.fraction);
        let digits = digits.trim_start_matches('0').as_bytes().to_vec();
        let exponent = if parts.format == Format::Binary { 0 } else { i64::from(parts.exponent) };
        let places = i64::try_from(parts.fraction.len()).unwrap_or(i64::MAX);
        Self { negative: parts.negative, digits, exponent: exponent - places }
    }

    fn multiply(&mut self, factor: u64) {
        let mut carry = 0_u128;
        for digit in self.digits.iter_mut().rev() {
            let product = u128::from(*digit - b'0') * u128::from(factor) + carry;
            *digit = ascii(product % 10);
            carry = product / 10;
        }
        self.prepend(carry);
    }

    fn prepend(&mut self, mut carry: u128) {
        let mut front = Vec::new();
        while carry > 0 {
            front.push(ascii(carry % 10));
            carry /= 10;
        }
        front.reverse();
        self.digits.splice(0..0, front);
    }

    /// Away from zero, to a multiple of this power of ten: who asks for a little is not given nothing.
    fn round_up(&mut self, exponent: i32) {
        let surplus = i64::from(exponent) - self.exponent;
        if surplus <= 0 || self.digits.is_empty() {
            return;
        }
        let kept = self.digits.len().saturating_sub(usize::try_from(surplus).unwrap_or(usize::MAX));
        let lost = self.digits.split_off(kept);
        self.exponent = i64::from(exponent);
        if lost.iter().any(|digit| *digit != b'0') {
            self.increment();
        }
    }

    fn increment(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            if *digit < b'9' {
                *digit += 1;
                return;
            }
            *digit = b'0';
        }
        self.digits.insert(0, b'1');
    }

    /// Moves trailing zeros into the exponent.
    fn trim(&mut self) {
        while self.digits.last() == Some(&b'0') {
            self.digits.pop();
            self.exponent += 1;
        }
    }

    /// Compares what is left of the point, sign aside.
    fn exceeds(&self, limit: &[u8]) -> bool {
        let places = i64::try_from(self.digits.len()).unwrap_or(i64::MAX) + self.exponent;
        let length = i64::try_from(limit.len()).unwrap_or(i64::MAX);
        if places != length {
            return places > length;
        }
        let shared = self.digits.len().min(limit.len());
        match self.digits[..shared].cmp(&limit[..shared]) {
            std::cmp::Ordering::Equal => self.digits[shared..].iter().any(|digit| *digit != b'0'),
            unequal => unequal.is_gt(),
        }
    }

    fn in_powers_of_1000(mut self, format: Format) -> String {
        while self.exponent % 3 != 0 {
            self.digits.push(b'0');
            self.exponent -= 1;
        }
        // Kubernetes has no suffix beyond these, and writes none.
        let suffix = match (format, self.exponent) {
            (_, 0) => String::new(),
            (Format::Exponent, exponent) => format!("e{exponent}"),
            (_, -9) => "n".into(),
            (_, -6) => "u".into(),
            (_, -3) => "m".into(),
            (_, 3) => "k".into(),
            (_, 6) => "M".into(),
            (_, 9) => "G".into(),
            (_, 12) => "T".into(),
            (_, 15) => "P".into(),
            (_, 18) => "E".into(),
            _ => String::new(),
        };
        format!("{}{}{suffix}", self.sign(), String::from_utf8_lossy(&self.digits))
    }

    /// Only for whole numbers up to the greatest of 64 bits.
    fn in_powers_of_1024(mut self) -> String {
        self.digits.extend(std::iter::repeat_n(b'0', usize::try_from(self.exponent).unwrap_or(0)));
        let mut value: u64 = String::from_utf8_lossy(&self.digits).parse().unwrap_or(u64::MAX);
        let suffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
        let mut at = 0;
        while value >= 1024 && value.is_multiple_of(1024) && at < suffixes.len() - 1 {
            value /= 1024;
            at += 1;
        }
        format!("{}{value}{}", self.sign(), suffixes[at])
    }

    fn sign(&self) -> &'static str {
        if self.negative { "-" } else { "" }
    }
}

fn ascii(digit: u128) -> u8 {
    b'0' + u8::try_from(digit).unwrap_or(9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from `resource.ParseQuantity` of Kubernetes 1.36.3.
    #[test]
    fn quantities_are_written_as_kubernetes_writes_them() {
        let cases = [
            ("0", "0"),
            ("00", "0"),
            ("0.0", "0"),
            ("-", "0"),
            (".", "0"),
            ("1", "1"),
            ("+1", "+1"),
            ("1.", "1."),
            ("1000m", "1"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("1.500", "1.500"),
            ("0.001", "1m"),
            ("1000", "1k"),
            ("1000E", "1"),
            ("12e6", "12e6"),
            ("1e1", "10"),
            ("1e100", "10e99"),
            ("1e+3", "1e+3"),
            ("1e-12", "1e-9"),
            ("1e4294967299", "1e4294967299"),
            ("1e-2147483649", "10e2147483646"),
            ("0.1n", "1n"),
            ("1.0000000001", "1000000001n"),
            ("1Gi", "1Gi"),
            ("05Gi", "05Gi"),
            ("8Gi", "8Gi"),
            ("1024Mi", "1Gi"),
            ("1500Mi", "1500Mi"),
            ("1.5Gi", "1536Mi"),
            ("-0.5Gi", "-512Mi"),
            ("0.5Ki", "512"),
            ("1.1Ki", "1126400m"),
            ("9Ei", "9223372036854775807"),
            ("999999999999999999999Ki", "9223372036854775807"),
            ("123456789012345678901", "123456789012345678901"),
        ];
        for (text, expected) in cases {
            assert_eq!(canonical(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused_for_a_reason() {
        let format = ["", "1 ", "1.2.3", "1_0", "0x1", "1Kix"].map(|text| (text, Error::Format));
        let suffix = ["1ki", "1K", "1i", "1e", "--1"].map(|text| (text, Error::Suffix));
        for (text, expected) in format.into_iter().chain(suffix) {
            assert_eq!(canonical(text), Err(expected), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_quantity_or_an_error(text in "\\PC{0,20}|[-+0-9.eEKMGi]{0,40}") {
            let _ = canonical(&text);
        }

        #[test]
        fn writing_a_quantity_again_changes_nothing(text in "[+-]?[0-9]{0,25}(\\.[0-9]{0,15})?([numkMGTPE]|[KMGTPE]i|e-?[0-9]{1,3})?") {
            if let Ok(first) = canonical(&text) {
                proptest::prop_assert_eq!(canonical(&first), Ok(first));
            }
        }
    }
}
