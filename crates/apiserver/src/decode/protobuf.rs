//! Reads objects in Kubernetes' protobuf into the JSON of the same objects. The wire carries numbers only; names and types
//! come from the structs. What Go would leave out of the JSON is still in it here: `typed` takes that out.

mod envelope;
mod parts;
mod wire;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value};

use super::structs::{Member, Own, Struct, StructId, Type, Width, structs};
use super::typed::time;
use super::{Limits, json};
pub(super) use envelope::{Envelope, envelope};
use parts::{integer, moment, read};
use wire::{Datum, Reader};

/// What is wrong with a body.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    #[error("empty data")]
    Empty,
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    Prefix,
    #[error("empty body")]
    EmptyBody,
    #[error("unexpected EOF")]
    Truncated,
    #[error("proto: integer overflow")]
    Overflow,
    #[error("proto: {name}: illegal tag {number} (wire type {wire})")]
    Tag { name: &'static str, number: u64, wire: u8 },
    #[error("proto: {name}: wiretype end group for non-group")]
    EndGroup { name: &'static str },
    #[error("proto: illegal wireType {0}")]
    Wire(u8),
    #[error("proto: wrong wireType = {wire} for field {field}")]
    WrongWire { field: &'static str, wire: u8 },
    #[error("proto: exceeded max depth")]
    Depth,
    #[error("proto: exceeded max number of values")]
    Values,
    #[error(
        "no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"pkg/runtime/scheme.go:111\""
    )]
    Unknown { api_version: String, kind: String },
    #[error("{0}")]
    Json(#[from] json::Malformed),
}

/// The object in an envelope. Its kind is an argument since an envelope may leave it to the request.
pub(super) fn object(
    envelope: &Envelope,
    api_version: &str,
    kind: &str,
    limits: Limits,
) -> Result<Value, Malformed> {
    let id = structs()
        .of_kind(api_version, kind)
        .ok_or_else(|| Malformed::Unknown { api_version: api_version.into(), kind: kind.into() })?;
    let mut fields = Map::new();
    Decoder { left: limits }.message(envelope.raw, id, &mut fields)?;
    for (name, value) in [("apiVersion", api_version), ("kind", kind)] {
        fields.insert(name.into(), value.into());
    }
    Ok(fields.into())
}

struct Decoder {
    /// How many more messages may open inside the current one, and how many more values there may be.
    left: Limits,
}

impl Decoder {
    /// Reads into fields that may hold something already: a message that comes twice is merged.
    fn message(
        &mut self,
        bytes: &[u8],
        id: StructId,
        fields: &mut Map<String, Value>,
    ) -> Result<(), Malformed> {
        self.left.depth = self.left.depth.checked_sub(1).ok_or(Malformed::Depth)?;
        let structure = structs().get(id);
        let mut reader = Reader::new(bytes, structure.short_name());
        while let Some((number, datum)) = reader.next()? {
            match structure.member(number) {
                Some(Member::Field(at)) => self.field(datum, structure, at, fields)?,
                Some(Member::Embedded(id)) => {
                    self.message(datum.bytes(structs().get(id).short_name())?, id, fields)?;
                }
                None => {}
            }
        }
        self.left.depth += 1;
        Ok(())
    }

    fn field(
        &mut self,
        datum: Datum,
        structure: &'static Struct,
        at: u16,
        fields: &mut Map<String, Value>,
    ) -> Result<(), Malformed> {
        let field = &structure.fields[usize::from(at)];
        let slot = match fields.get_mut(field.name) {
            Some(slot) => slot,
            None => fields.entry(field.name).or_insert(Value::Null),
        };
        self.value(datum, &field.kind, field.name, slot)
    }

    /// What opens other messages comes first and alone: how deep these may go is a matter of how much stack each takes.
    fn value(
        &mut self,
        datum: Datum,
        mut kind: &Type,
        name: &'static str,
        slot: &mut Value,
    ) -> Result<(), Malformed> {
        self.left.values = self.left.values.checked_sub(1).ok_or(Malformed::Values)?;
        while let Type::Pointer(inner) = kind {
            kind = inner;
        }
        match kind {
            Type::Struct(id) => self.message(datum.bytes(name)?, *id, object_in(slot)),
            Type::Slice(items) => self.item(datum, items, name, list_in(slot)),
            Type::Map(entries) => self.entry(datum.bytes(name)?, &entries.1, name, object_in(slot)),
            Type::Named(named) if named.is_message => {
                self.wrapped(datum.bytes(name)?, &named.kind, name, slot)
            }
            Type::Named(named) => self.value(datum, &named.kind, name, slot),
            Type::Own(own) => self.own(datum.bytes(name)?, *own, slot),
            scalar => scalar_in(datum, scalar, name, slot),
        }
    }

    /// One item, or several scalars packed together.
    fn item(
        &mut self,
        datum: Datum,
        items: &Type,
        name: &'static str,
        list: &mut Vec<Value>,
    ) -> Result<(), Malformed> {
        if let (Datum::Bytes(packed), Type::Bool | Type::Int(_) | Type::Float) = (&datum, items.plain()) {
            let mut reader = Reader::new(packed, name);
            while let Some(datum) = reader.packed(matches!(items.plain(), Type::Float))? {
                self.push(datum, items, name, list)?;
            }
            return Ok(());
        }
        self.push(datum, items, name, list)
    }

    fn push(
        &mut self,
        datum: Datum,
        items: &Type,
        name: &'static str,
        list: &mut Vec<Value>,
    ) -> Result<(), Malformed> {
        let mut item = Value::Null;
        self.value(datum, items, name, &mut item)?;
        if let (Value::Null, Type::Struct(_)) = (&item, items) {
            item = Value::Object(Map::new());
        }
        list.push(item);
        Ok(())
    }

    /// A key and a value, each in a message of its own.
    fn entry(
        &mut self,
        bytes: &[u8],
        values: &Type,
        name: &'static str,
        map: &mut Map<String, Value>,
    ) -> Result<(), Malformed> {
        let (mut key, mut value) = (String::new(), Value::Null);
        let mut reader = Reader::new(bytes, name);
        while let Some((number, datum)) = reader.next()? {
            match number {
                1 => key = datum.text(name)?,
                2 => self.value(datum, values, name, &mut value)?,
                _ => {}
            }
        }
        map.insert(key, value);
        Ok(())
    }

    /// A list that is a message, of which an empty one is an empty list.
    fn wrapped(
        &mut self,
        bytes: &[u8],
        kind: &Type,
        name: &'static str,
        slot: &mut Value,
    ) -> Result<(), Malformed> {
        list_in(slot);
        let mut reader = Reader::new(bytes, name);
        while let Some((number, datum)) = reader.next()? {
            if number == 1 {
                self.value(datum, kind, name, slot)?;
            }
        }
        Ok(())
    }

    fn own(&mut self, bytes: &[u8], own: Own, slot: &mut Value) -> Result<(), Malformed> {
        match own {
            Own::SchemaOrArray | Own::SchemaOrBool | Own::SchemaOrStrings => self.schema(bytes, own, slot),
            other => self.plain_own(bytes, other).map(|value| *slot = value),
        }
    }

    fn plain_own(&self, bytes: &[u8], own: Own) -> Result<Value, Malformed> {
        let read = |name| read(bytes, name);
        match own {
            Own::Quantity => Ok(read("Quantity")?.text(1, "String_")?.into()),
            Own::IntOrString => {
                let parts = read("IntOrString")?;
                match parts.integer(1) {
                    1 => Ok(parts.text(3, "StrVal")?.into()),
                    _ => Ok(integer(parts.integer(2), Width::Int32)),
                }
            }
            Own::Time => moment(bytes, time::Precision::Seconds),
            Own::MicroTime => moment(bytes, time::Precision::Micros),
            Own::Raw(name) => self.raw(read(name)?.bytes(1)),
            Own::SchemaOrArray | Own::SchemaOrBool | Own::SchemaOrStrings => Ok(Value::Null),
        }
    }

    /// JSON inside protobuf.
    fn raw(&self, bytes: &[u8]) -> Result<Value, Malformed> {
        if bytes.is_empty() { Ok(Value::Null) } else { Ok(json::parse(bytes, self.left)?.object) }
    }

    fn schema(&mut self, bytes: &[u8], own: Own, slot: &mut Value) -> Result<(), Malformed> {
        let schema = Type::Struct(structs().schema());
        let mut reader = Reader::new(bytes, "JSONSchemaProps");
        while let Some((number, datum)) = reader.next()? {
            match (own, number) {
                (Own::SchemaOrBool, 1) if !slot.is_object() => scalar_in(datum, &Type::Bool, "Allows", slot)?,
                (Own::SchemaOrBool, 2) | (Own::SchemaOrArray | Own::SchemaOrStrings, 1) => {
                    self.value(datum, &schema, "Schema", slot)?;
                }
                (Own::SchemaOrArray, 2) => self.item(datum, &schema, "JSONSchemas", list_in(slot))?,
                (Own::SchemaOrStrings, 2) => self.item(datum, &Type::String, "Property", list_in(slot))?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn scalar_in(datum: Datum, kind: &Type, name: &'static str, slot: &mut Value) -> Result<(), Malformed> {
    *slot = match kind {
        Type::Bool => (datum.integer(name)? != 0).into(),
        Type::Int(width) => integer(datum.integer(name)?, *width),
        Type::Float => Number::from_f64(datum.float(name)?).map_or(Value::Null, Value::Number),
        Type::Bytes => STANDARD.encode(datum.bytes(name)?).into(),
        _ => datum.text(name)?.into(),
    };
    Ok(())
}

fn object_in(slot: &mut Value) -> &mut Map<String, Value> {
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut().expect("it was just made an object")
}

fn list_in(slot: &mut Value) -> &mut Vec<Value> {
    if !slot.is_array() {
        *slot = Value::Array(vec![]);
    }
    slot.as_array_mut().expect("it was just made a list")
}
