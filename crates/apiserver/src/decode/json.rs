//! Reads JSON as Kubernetes reads it: the last of several fields of one name counts and the others are reported, text
//! that is no Unicode is mended rather than refused, and what is malformed is named in the words that clients know.

mod text;

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::problem::{Paths, Problem};
use super::{Limits, Parsed};

/// What is wrong with a text, in the words of Go's reader.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    #[error("unexpected end of JSON input")]
    Truncated,
    #[error("invalid character {} {where_}", text::quoted(*.byte))]
    Unexpected { byte: u8, where_: &'static str },
}

pub(super) fn parse(bytes: &[u8], limits: Limits) -> Result<Parsed, Malformed> {
    let mut parser = Parser { bytes, at: 0, left: limits, path: vec![], duplicates: Paths::default() };
    let object = parser.value()?;
    match parser.peek() {
        Err(Malformed::Truncated) => {
            Ok(Parsed { object, duplicates: parser.duplicates.into_problems(Problem::Duplicate) })
        }
        _ => Err(parser.unexpected("after top-level value")),
    }
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    /// How many more objects and lists may open inside the current one, and how many more values there may be.
    left: Limits,
    /// Where the parser is, so that a field that comes twice can be named. Costs nothing until one does.
    path: Vec<Segment>,
    duplicates: Paths,
}

#[derive(Clone, Copy)]
enum Segment {
    /// Where the key stands in the text, quotes included.
    Key(usize, usize),
    Index(usize),
}

impl Parser<'_> {
    fn value(&mut self) -> Result<Value, Malformed> {
        let next = self.peek()?;
        if self.left.values == 0 {
            return Err(self.unexpected("exceeded max number of values"));
        }
        self.left.values -= 1;
        match next {
            b'{' => self.nested(Self::object),
            b'[' => self.nested(Self::array),
            b'"' => Ok(Value::String(self.string()?)),
            b't' => self.literal("true", true.into()),
            b'f' => self.literal("false", false.into()),
            b'n' => self.literal("null", Value::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn nested(&mut self, inside: fn(&mut Self) -> Result<Value, Malformed>) -> Result<Value, Malformed> {
        if self.left.depth == 0 {
            return Err(self.unexpected("exceeded max depth"));
        }
        self.left.depth -= 1;
        self.at += 1;
        let value = inside(self)?;
        self.left.depth += 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, Malformed> {
        let mut fields = Map::new();
        if self.eat(b'}')? {
            return Ok(fields.into());
        }
        loop {
            self.entry(&mut fields)?;
            if self.eat(b'}')? {
                return Ok(fields.into());
            }
            self.expect(b',', "after object key:value pair")?;
        }
    }

    fn entry(&mut self, fields: &mut Map<String, Value>) -> Result<(), Malformed> {
        if self.peek()? != b'"' {
            return Err(self.unexpected("looking for beginning of object key string"));
        }
        let start = self.at;
        let key = self.string()?;
        self.path.push(Segment::Key(start, self.at));
        self.expect(b':', "after object key")?;
        let value = self.value()?;
        if fields.insert(key, value).is_some() && !self.duplicates.is_full() {
            let path = self.path_text();
            self.duplicates.add(path);
        }
        self.path.pop();
        Ok(())
    }

    fn array(&mut self) -> Result<Value, Malformed> {
        let mut items = Vec::new();
        if self.eat(b']')? {
            return Ok(items.into());
        }
        loop {
            self.path.push(Segment::Index(items.len()));
            items.push(self.value()?);
            self.path.pop();
            if self.eat(b']')? {
                return Ok(items.into());
            }
            self.expect(b',', "after array element")?;
        }
    }

    fn literal(&mut self, text: &'static str, value: Value) -> Result<Value, Malformed> {
        for expected in text.bytes() {
            if self.byte()? != expected {
                return Err(self.unexpected(text::expecting(text, expected)));
            }
            self.at += 1;
        }
        Ok(value)
    }

    /// The next byte that is no white space, without taking it.
    fn peek(&mut self) -> Result<u8, Malformed> {
        while let b' ' | b'\t' | b'\r' | b'\n' = self.byte()? {
            self.at += 1;
        }
        self.byte()
    }

    fn byte(&self) -> Result<u8, Malformed> {
        self.bytes.get(self.at).copied().ok_or(Malformed::Truncated)
    }

    fn eat(&mut self, byte: u8) -> Result<bool, Malformed> {
        let found = self.peek()? == byte;
        self.at += usize::from(found);
        Ok(found)
    }

    fn expect(&mut self, byte: u8, where_: &'static str) -> Result<(), Malformed> {
        if self.eat(byte)? { Ok(()) } else { Err(self.unexpected(where_)) }
    }

    fn unexpected(&self, where_: &'static str) -> Malformed {
        match self.byte() {
            Ok(byte) => Malformed::Unexpected { byte, where_ },
            Err(truncated) => truncated,
        }
    }

    fn path_text(&self) -> String {
        let mut path = String::new();
        for segment in &self.path {
            match *segment {
                Segment::Index(index) => write!(path, "[{index}]").expect("text can always be added to"),
                Segment::Key(start, end) => {
                    let dot = if path.is_empty() { "" } else { "." };
                    path.push_str(dot);
                    path.push_str(&text::unquoted(&self.bytes[start + 1..end - 1]));
                }
            }
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn limits(depth: usize) -> Limits {
        Limits { depth, values: 20 }
    }

    fn refusal(text: &[u8]) -> String {
        parse(text, limits(4)).unwrap_err().to_string()
    }

    #[test]
    fn the_last_of_several_fields_counts_and_the_path_is_reported() {
        let parsed =
            parse(br#"{"a": {"b": [{"c": 1, "\u0063": 2}]}, "d": 1, "d": 1, "d": 2}"#, limits(9)).unwrap();
        assert_eq!(parsed.object, json!({"a": {"b": [{"c": 2}]}, "d": 2}));
        let paths = ["a.b[0].c", "d"].map(|path| Problem::Duplicate(path.into()));
        assert_eq!(parsed.duplicates, paths);
    }

    #[test]
    fn malformed_text_is_named_as_go_names_it() {
        let cases: [(&[u8], &str); 14] = [
            (b"", "unexpected end of JSON input"),
            (b"{\"a\"", "unexpected end of JSON input"),
            (b"}", "invalid character '}' looking for beginning of value"),
            (b"{a", "invalid character 'a' looking for beginning of object key string"),
            (b"{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
            (b"{\"a\" 1}", "invalid character '1' after object key"),
            (b"{\"a\":1 \"", "invalid character '\"' after object key:value pair"),
            (b"[1 2]", "invalid character '2' after array element"),
            (b"{} '", r"invalid character '\'' after top-level value"),
            (b"tRue", "invalid character 'R' in literal true (expecting 'r')"),
            (b"\"\n", r"invalid character '\n' in string literal"),
            (b"\"\\x", "invalid character 'x' in string escape code"),
            (b"[[[[[", "invalid character '[' exceeded max depth"),
            (b"\x80", r"invalid character '\u0080' looking for beginning of value"),
        ];
        for (text, expected) in cases {
            assert_eq!(refusal(text), expected);
        }
    }

    #[test]
    fn the_number_of_values_is_limited() {
        let list = format!("[{}0]", "0, ".repeat(18));
        assert!(parse(list.as_bytes(), limits(9)).is_ok());
        assert_eq!(
            refusal(format!("[{list}]").as_bytes()),
            "invalid character '0' exceeded max number of values"
        );
    }

    #[test]
    fn numbers_keep_their_kind() {
        let parsed =
            parse(b"[1, -0, 9223372036854775807, 1.5, 2.0, 1e2, 18446744073709551616]", limits(9)).unwrap();
        assert_eq!(
            parsed.object.to_string(),
            "[1,0,9223372036854775807,1.5,2.0,100.0,1.8446744073709552e+19]"
        );
    }

    #[test]
    fn malformed_numbers_are_refused() {
        let cases: [(&[u8], &str); 5] = [
            (b"-x", "invalid character 'x' in numeric literal"),
            (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
            (b"1ex", "invalid character 'x' in exponent of numeric literal"),
            (b"01", "invalid character '1' after top-level value"),
            (b"1e", "unexpected end of JSON input"),
        ];
        for (text, expected) in cases {
            assert_eq!(refusal(text), expected);
        }
    }

    #[test]
    fn text_that_is_no_unicode_is_mended() {
        let parsed = parse(b"[\"a\xffb\", \"\\ud800x\", \"\\ud83d\\ude00\"]", limits(9)).unwrap();
        assert_eq!(parsed.object, json!(["a\u{fffd}b", "\u{fffd}x", "\u{1f600}"]));
    }
}
