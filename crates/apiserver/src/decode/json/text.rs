//! Strings and numbers of JSON, and how Go quotes a character that it did not expect.

use serde_json::{Number, Value};

use super::{Malformed, Parser};

impl Parser<'_> {
    pub(super) fn string(&mut self) -> Result<String, Malformed> {
        self.at += 1;
        let start = self.at;
        loop {
            match self.byte()? {
                b'"' => {
                    let text = unquoted(&self.bytes[start..self.at]);
                    self.at += 1;
                    return Ok(text);
                }
                b'\\' => self.escape()?,
                0..0x20 => return Err(self.unexpected("in string literal")),
                _ => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<(), Malformed> {
        self.at += 1;
        match self.byte()? {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => self.at += 1,
            b'u' => {
                for _ in 0..4 {
                    self.at += 1;
                    if !self.byte()?.is_ascii_hexdigit() {
                        return Err(self.unexpected("in \\u hexadecimal character escape"));
                    }
                }
                self.at += 1;
            }
            _ => return Err(self.unexpected("in string escape code")),
        }
        Ok(())
    }

    /// A whole number stays one; what does not fit 64 bits, and what has a point or an exponent, is a float.
    pub(super) fn number(&mut self) -> Result<Value, Malformed> {
        let start = self.at;
        self.at += usize::from(self.byte()? == b'-');
        match self.byte()? {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits(),
            _ => return Err(self.unexpected("in numeric literal")),
        }
        if self.byte() == Ok(b'.') {
            self.at += 1;
            self.some_digits("after decimal point in numeric literal")?;
        }
        if let Ok(b'e' | b'E') = self.byte() {
            self.at += 1;
            self.at += usize::from(matches!(self.byte()?, b'+' | b'-'));
            self.some_digits("in exponent of numeric literal")?;
        }
        let text = std::str::from_utf8(&self.bytes[start..self.at]).unwrap_or_default();
        Ok(Value::Number(number(text)))
    }

    fn digits(&mut self) {
        while let Ok(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
    }

    fn some_digits(&mut self, where_: &'static str) -> Result<(), Malformed> {
        if !self.byte()?.is_ascii_digit() {
            return Err(self.unexpected(where_));
        }
        self.digits();
        Ok(())
    }
}

/// A number beyond what a float can hold becomes the largest: JSON has no infinity.
pub(in crate::decode) fn number(text: &str) -> Number {
    if let Ok(whole) = text.parse::<i64>() {
        return whole.into();
    }
    if let Ok(whole) = text.parse::<u64>() {
        return whole.into();
    }
    let float = text.parse::<f64>().unwrap_or_default().clamp(f64::MIN, f64::MAX);
    Number::from_f64(float).unwrap_or_else(|| 0.into())
}

/// The text of a string that is known to be well-formed, without its quotes.
pub(super) fn unquoted(raw: &[u8]) -> String {
    if !raw.contains(&b'\\') {
        return String::from_utf8_lossy(raw).into_owned();
    }
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        text.push_str(&String::from_utf8_lossy(&rest[..at]));
        let (character, length) = unescaped(&rest[at..]);
        text.push(character);
        rest = &rest[at + length..];
    }
    text.push_str(&String::from_utf8_lossy(rest));
    text
}

/// The character that an escape stands for, and how many bytes it takes. Half a pair stands for nothing.
fn unescaped(escape: &[u8]) -> (char, usize) {
    match escape[1] {
        b'b' => ('\u{8}', 2),
        b'f' => ('\u{c}', 2),
        b'n' => ('\n', 2),
        b'r' => ('\r', 2),
        b't' => ('\t', 2),
        b'u' => {
            let first = unit(escape).unwrap_or_default();
            let second = unit(&escape[6..]).unwrap_or_default();
            match char::decode_utf16([first, second]).next() {
                Some(Ok(character)) => (character, 6 * character.len_utf16()),
                _ => (char::REPLACEMENT_CHARACTER, 6),
            }
        }
        other => (char::from(other), 2),
    }
}

fn unit(escape: &[u8]) -> Option<u16> {
    let digits = escape.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// A byte in quotes, as Go shows it: taken for a character, whatever it is part of.
pub(super) fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".into(),
        b'"' => "'\"'".into(),
        b'\\' => r"'\\'".into(),
        b'\n' => r"'\n'".into(),
        b'\r' => r"'\r'".into(),
        b'\t' => r"'\t'".into(),
        0x07 => r"'\a'".into(),
        0x08 => r"'\b'".into(),
        0x0b => r"'\v'".into(),
        0x0c => r"'\f'".into(),
        0..0x20 | 0x7f => format!("'\\x{byte:02x}'"),
        0x80..=0xa0 | 0xad => format!("'\\u{byte:04x}'"),
        printable => format!("'{}'", char::from(printable)),
    }
}

/// Where a literal went wrong.
pub(super) fn expecting(literal: &str, expected: u8) -> &'static str {
    match (literal, expected) {
        ("true", b'r') => "in literal true (expecting 'r')",
        ("true", b'u') => "in literal true (expecting 'u')",
        ("true", _) => "in literal true (expecting 'e')",
        ("false", b'a') => "in literal false (expecting 'a')",
        ("false", b'l') => "in literal false (expecting 'l')",
        ("false", b's') => "in literal false (expecting 's')",
        ("false", _) => "in literal false (expecting 'e')",
        (_, b'u') => "in literal null (expecting 'u')",
        _ => "in literal null (expecting 'l')",
    }
}
