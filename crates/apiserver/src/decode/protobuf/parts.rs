//! Small messages of fixed meaning, of which only some numbers are looked at: times, quantities and the like.

use serde_json::Value;

use super::super::structs::Width;
use super::super::typed::time;
use super::Malformed;
use super::wire::{Datum, Reader};

/// The last datum of each of the first numbers of a small message.
pub(super) struct Parts<'a>([Option<Datum<'a>>; 4]);

pub(super) fn read<'a>(bytes: &'a [u8], name: &'static str) -> Result<Parts<'a>, Malformed> {
    let mut parts = Parts([const { None }; 4]);
    let mut reader = Reader::new(bytes, name);
    while let Some((number, datum)) = reader.next()? {
        if let Some(part) = usize::try_from(number).ok().and_then(|number| parts.0.get_mut(number)) {
            *part = Some(datum);
        }
    }
    Ok(parts)
}

impl<'a> Parts<'a> {
    pub(super) fn integer(&self, number: usize) -> u64 {
        self.0[number].as_ref().and_then(|datum| datum.integer("").ok()).unwrap_or_default()
    }

    pub(super) fn bytes(&self, number: usize) -> &'a [u8] {
        self.0[number].as_ref().and_then(|datum| datum.bytes("").ok()).unwrap_or_default()
    }

    pub(super) fn text(&self, number: usize, name: &'static str) -> Result<String, Malformed> {
        self.0[number].as_ref().map_or(Ok(String::new()), |datum| datum.text(name))
    }
}

/// An empty message is no time.
pub(super) fn moment(bytes: &[u8], precision: time::Precision) -> Result<Value, Malformed> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let parts = read(bytes, "Timestamp")?;
    let nanos = match precision {
        time::Precision::Seconds => 0,
        time::Precision::Micros => i64::from(low_half(parts.integer(2)).cast_signed()),
    };
    let text = time::written(parts.integer(1).cast_signed(), nanos, precision);
    Ok(text.map_or(Value::Null, Value::String))
}

pub(super) fn integer(bits: u64, width: Width) -> Value {
    match width {
        Width::Int32 => low_half(bits).cast_signed().into(),
        Width::Int64 => bits.cast_signed().into(),
        Width::Uint32 => low_half(bits).into(),
    }
}

fn low_half(bits: u64) -> u32 {
    let [a, b, c, d, ..] = bits.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}
