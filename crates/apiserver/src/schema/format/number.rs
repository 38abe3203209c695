//! Formats of numbers that carry a check digit.

/// Spaces and dashes between the digits do not count.
fn compact(text: &str) -> Vec<u8> {
    text.bytes().filter(|byte| !matches!(byte, b' ' | b'-')).collect()
}

fn digits(text: &[u8]) -> Option<Vec<u32>> {
    text.iter().map(|byte| byte.is_ascii_digit().then(|| u32::from(byte - b'0'))).collect()
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let compact = compact(text);
    let Some((last, first)) = compact.split_last().filter(|_| compact.len() == 10) else { return false };
    let Some(digits) = digits(first) else { return false };
    let check = match last {
        b'X' => 10,
        digit if digit.is_ascii_digit() => u32::from(digit - b'0'),
        _ => return false,
    };
    let sum: u32 = digits.iter().zip(1..).map(|(digit, weight)| digit * weight).sum();
    (sum + 10 * check).is_multiple_of(11)
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let Some(digits) = digits(&compact(text)).filter(|digits| digits.len() == 13) else { return false };
    let sum: u32 = digits.iter().enumerate().map(|(at, digit)| digit * if at % 2 == 0 { 1 } else { 3 }).sum();
    sum.is_multiple_of(10)
}

/// The length and first digits of an issuer, and Luhn's check digit.
pub(super) fn is_credit_card(text: &str) -> bool {
    let only_digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).collect();
    let Some(digits) = digits(&only_digits) else { return false };
    has_issuer(&String::from_utf8_lossy(&only_digits)) && has_luhn_digit(&digits)
}

fn has_issuer(text: &str) -> bool {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| text.starts_with(prefix));
    let second = text.as_bytes().get(1).copied().unwrap_or_default();
    match text.len() {
        13 => starts(&["4"]),
        14 => starts(&["300", "301", "302", "303", "304", "305", "36", "38"]),
        15 => starts(&["34", "37", "2131", "1800"]),
        16 => {
            starts(&["4", "6011", "65", "35", "62"])
                || (text.starts_with('5') && (b'1'..=b'5').contains(&second))
                || (text.starts_with('2') && (b'2'..=b'7').contains(&second))
        }
        _ => false,
    }
}

fn has_luhn_digit(digits: &[u32]) -> bool {
    let weighed = digits.iter().rev().enumerate().map(|(at, digit)| match at % 2 {
        0 => *digit,
        _ if *digit > 4 => digit * 2 - 9,
        _ => digit * 2,
    });
    weighed.sum::<u32>().is_multiple_of(10)
}

/// Three, two and four digits; the separators may not be left out.
pub(super) fn is_social_security_number(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 11
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            3 | 6 => matches!(byte, b' ' | b'-'),
            _ => byte.is_ascii_digit(),
        })
}
