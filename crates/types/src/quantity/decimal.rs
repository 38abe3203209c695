//! Decimal numbers of any length, as far as quantities need them: rounded, compared, and written with a suffix.

use super::Notation;
use super::written::{BINARY, THOUSANDS, Written};

/// Digits without leading zeros, and how many zeros follow or places precede.
pub(super) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

/// What Kubernetes counts to in binary: 64 bits.
const MOST_BINARY: &[u8] = b"9223372036854775807";
const NANO: i64 = -9;

impl Decimal {
    /// The amount, rounded up to billionths.
    pub(super) fn of(written: &Written<'_>) -> Self {
        let mut number = Self::unrounded(written);
        if written.notation == Notation::Binary {
            number.multiply(1 << written.exponent);
        }
        number.round_up(NANO);
        if written.notation == Notation::Binary && number.exceeds(MOST_BINARY) {
            number = Self { digits: MOST_BINARY.to_vec(), exponent: 0, ..number };
        }
        number
    }

    fn unrounded(written: &Written<'_>) -> Self {
        let digits = format!("{}{}", written.whole, written.fraction);
        let digits = digits.trim_start_matches('0').as_bytes().to_vec();
        let exponent = if written.notation == Notation::Binary { 0 } else { i64::from(written.exponent) };
        let places = i64::try_from(written.fraction.len()).unwrap_or(i64::MAX);
        Self { negative: written.negative, digits, exponent: exponent - places }
    }

    pub(super) fn of_billionths(nano: i128) -> Self {
        let digits = nano.unsigned_abs().to_string().trim_start_matches('0').as_bytes().to_vec();
        Self { negative: nano < 0, digits, exponent: NANO }
    }

    /// Sign aside; none where there are too many to count.
    pub(super) fn billionths(&self) -> Option<i128> {
        if self.digits.is_empty() {
            return Some(0);
        }
        let digits: i128 = std::str::from_utf8(&self.digits).ok()?.parse().ok()?;
        let zeros = u32::try_from(self.exponent - NANO).ok()?;
        digits.checked_mul(10_i128.checked_pow(zeros)?)
    }

    /// In the one way in which an amount is written.
    pub(super) fn spelled(mut self, notation: Notation) -> String {
        self.trim();
        if self.digits.is_empty() {
            return "0".into();
        }
        // A small or broken number is easier to read in tens.
        match notation {
            Notation::Binary if self.exponent >= 0 && self.exceeds(b"1023") => self.in_powers_of_1024(),
            Notation::Binary => self.in_powers_of_1000(Notation::Decimal),
            notation => self.in_powers_of_1000(notation),
        }
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
    fn round_up(&mut self, exponent: i64) {
        let surplus = exponent - self.exponent;
        if surplus <= 0 || self.digits.is_empty() {
            return;
        }
        let kept = self.digits.len().saturating_sub(usize::try_from(surplus).unwrap_or(usize::MAX));
        let lost = self.digits.split_off(kept);
        self.exponent = exponent;
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

    fn in_powers_of_1000(mut self, notation: Notation) -> String {
        while self.exponent % 3 != 0 {
            self.digits.push(b'0');
            self.exponent -= 1;
        }
        let suffix = match (notation, self.exponent) {
            (Notation::Exponent, exponent) if exponent != 0 => format!("e{exponent}"),
            // Kubernetes has no suffix beyond these, and writes none.
            (_, exponent) => {
                let place = usize::try_from(exponent / 3 + 3).ok();
                place.and_then(|place| THOUSANDS.get(place)).copied().unwrap_or_default().to_owned()
            }
        };
        format!("{}{}{suffix}", self.sign(), String::from_utf8_lossy(&self.digits))
    }

    /// Only for whole numbers; no binary amount, nor a sum of some, has more digits than fit.
    fn in_powers_of_1024(mut self) -> String {
        self.digits.extend(std::iter::repeat_n(b'0', usize::try_from(self.exponent).unwrap_or(0)));
        let mut value: u128 = String::from_utf8_lossy(&self.digits).parse().unwrap_or(u128::MAX);
        let mut power = 0;
        while value >= 1024 && value.is_multiple_of(1024) && power < BINARY.len() - 1 {
            value /= 1024;
            power += 1;
        }
        format!("{}{value}{}", self.sign(), BINARY[power])
    }

    fn sign(&self) -> &'static str {
        if self.negative { "-" } else { "" }
    }
}

fn ascii(digit: u128) -> u8 {
    b'0' + u8::try_from(digit).unwrap_or(9)
}
