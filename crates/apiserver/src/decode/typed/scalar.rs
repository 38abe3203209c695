//! Values without fields: whether they are of the type that the struct has, and the one form that they are written in.

use asb_types::quantity as quantities;
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use super::super::structs::{Type, Width};
use super::failure::{Failure, Path};
use super::time::{self as times, Precision};
use super::{Walk, Walked};
use crate::go::kind_of;

/// Go does not mind bits after the last byte.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

impl Walk {
    /// Null is passed over and so leaves the zero of the type. `name` is the type as messages call it.
    pub(super) fn scalar(&mut self, value: &mut Value, kind: &Type, name: &Type, at: &Path) {
        match (&mut *value, kind) {
            (Value::Null, _) => *value = zero(kind),
            (Value::Bool(_), Type::Bool) | (Value::String(_), Type::String) => {}
            (Value::Number(number), Type::Int(width)) if fits(number, *width) => {}
            (Value::Number(number), Type::Int(_)) => {
                let found = format!("number {number}");
                self.fail(|| at.mismatch(&found, name));
            }
            (Value::Number(number), Type::Float) => {
                let float = if number.is_f64() { number.as_f64() } else { None };
                if let Some(whole) = float.and_then(crate::decode::whole) {
                    *number = whole;
                }
            }
            (Value::String(text), Type::Bytes) => match rewritten(text) {
                Ok(text) => *value = text.into(),
                Err(message) => self.fail(|| Failure::new(message)),
            },
            (Value::Array(items), Type::Bytes) => match octets(items) {
                Ok(octets) => *value = octets,
                Err(found) => self.fail(|| at.mismatch(&found, &"uint8")),
            },
            (other, _) => self.fail(|| at.mismatch(kind_of(other), name)),
        }
    }

    /// Only the first failure is told.
    pub(super) fn fail(&mut self, failure: impl FnOnce() -> Failure) {
        self.failure.get_or_insert_with(failure);
    }
}

/// Go takes a list of numbers for bytes.
fn octets(items: &[Value]) -> Result<Value, String> {
    let octet = |item: &Value| match item {
        Value::Null => Ok(0),
        Value::Number(number) => {
            let octet = number.as_u64().and_then(|number| u8::try_from(number).ok());
            octet.ok_or_else(|| format!("number {number}"))
        }
        other => Err(kind_of(other).to_owned()),
    };
    let octets: Vec<u8> = items.iter().map(octet).collect::<Result<_, _>>()?;
    Ok(BASE64.encode(octets).into())
}

fn zero(kind: &Type) -> Value {
    match kind {
        Type::Bool => false.into(),
        Type::Int(_) | Type::Float => 0.into(),
        Type::String => "".into(),
        _ => Value::Null,
    }
}

fn fits(number: &serde_json::Number, width: Width) -> bool {
    match width {
        Width::Int32 => number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        Width::Int64 => number.is_i64(),
        Width::Uint32 => number.as_u64().is_some_and(|number| u32::try_from(number).is_ok()),
    }
}

/// Bytes in base64, as Go writes them. Line ends are passed over.
fn rewritten(text: &str) -> Result<String, String> {
    let decoded = if text.contains(['\r', '\n']) {
        BASE64.decode(text.replace(['\r', '\n'], ""))
    } else {
        BASE64.decode(text)
    };
    let bytes =
        decoded.map_err(|_| format!("illegal base64 data at input byte {}", fault(text.as_bytes())))?;
    Ok(BASE64.encode(bytes))
}

/// Where Go says that base64 goes wrong: the byte, or the start of a group of four that is not whole.
fn fault(text: &[u8]) -> usize {
    let (mut at, mut in_group) = (0, 0);
    while at < text.len() {
        match text[at] {
            b'\r' | b'\n' => {}
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => in_group = (in_group + 1) % 4,
            b'=' if in_group >= 2 => break,
            _ => return at,
        }
        at += 1;
    }
    if at == text.len() {
        return at - in_group;
    }
    let after_line_ends = |from: usize| {
        let line_ends = text[from..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
        from + line_ends.count()
    };
    let next = after_line_ends(at + 1);
    if in_group == 3 || next == text.len() {
        return next;
    }
    if text[next] == b'=' { after_line_ends(next + 1) } else { next - 1 }
}

pub(super) fn quantity(value: &mut Value) -> Walked {
    let text = match &*value {
        Value::Null => "0".to_owned(),
        // It trims the text between the quotes as it was sent, where a line end would be an escape.
        Value::String(text) => {
            text.trim_matches(|next: char| next.is_whitespace() && !next.is_control()).to_owned()
        }
        // Kubernetes reads the text of the value, whatever it is.
        other => other.to_string(),
    };
    let canonical = quantities::canonical(&text).map_err(|error| Failure::new(error.to_string()))?;
    *value = canonical.into();
    Ok(())
}

pub(super) fn int_or_string(value: &mut Value, at: &Path) -> Walked {
    match value {
        Value::Null => *value = 0.into(),
        Value::String(_) => {}
        Value::Number(number) if fits(number, Width::Int32) => {}
        Value::Number(number) => return Err(at.mismatch(&format!("number {number}"), &"int32")),
        other => return Err(at.mismatch(kind_of(other), &"int32")),
    }
    Ok(())
}

/// What is no text is refused as Go refuses it before it looks for a time.
pub(super) fn time(value: &mut Value, precision: Precision, at: &Path) -> Walked {
    let canonical = match value {
        Value::Null => None,
        Value::String(text) => times::canonical(text, precision).map_err(Failure::new)?,
        other => return Err(at.mismatch(kind_of(other), &"string")),
    };
    *value = canonical.map_or(Value::Null, Value::String);
    Ok(())
}
