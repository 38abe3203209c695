//! Brings an object of a kind of Kubernetes itself to what comes out of decoding it into its Go struct and encoding it
//! again: fields that the kind does not know are dropped and reported, nulls and empty values are dropped where Go omits
//! them, what Go always writes is there, and times, quantities and bytes are in the one form that they are stored in.
//! Kinds that definitions bring have no structs; their schemas do the like.

mod failure;
mod scalar;
pub(crate) mod time;

use serde_json::{Map, Value};

use super::problem::{Paths, Problem};
use super::structs::{Field, Omit, Own, Struct, StructId, Type, structs};
use crate::go::kind_of;
pub use failure::Failure;
use failure::Path;

/// Whether a kind has a Go struct.
pub fn known(api_version: &str, kind: &str) -> bool {
    structs().of_kind(api_version, kind).is_some()
}

/// Gives back the fields that the kind does not know. An object of a kind that is not known stays as it is.
pub fn normalise(object: &mut Value, api_version: &str, kind: &str) -> Result<Vec<Problem>, Failure> {
    match structs().of_kind(api_version, kind) {
        Some(id) => walk(object, id, &Path::Root),
        None => Ok(vec![]),
    }
}

/// The same for the metadata of an object of any kind, if it has some.
pub fn normalise_metadata(object: &mut Value) -> Result<Vec<Problem>, Failure> {
    match object.get_mut("metadata") {
        Some(metadata) => walk(metadata, structs().metadata(), &Path::Key(&Path::Root, "metadata")),
        None => Ok(vec![]),
    }
}

fn walk(value: &mut Value, id: StructId, at: &Path) -> Result<Vec<Problem>, Failure> {
    let mut walk = Walk { unknown: Paths::default(), failure: None, is_silent: false };
    walk.value(value, &Type::Struct(id), at)?;
    match walk.failure {
        Some(failure) => Err(failure),
        None => Ok(walk.unknown.into_problems(Problem::Unknown)),
    }
}

struct Walk {
    unknown: Paths,
    /// The first value of a wrong type. Go reads on, since what follows may be worse.
    failure: Option<Failure>,
    /// Inside types that read themselves nobody looks for fields that are not known.
    is_silent: bool,
}

/// Ends the walk at once: what a type that reads itself cannot make sense of.
type Walked = Result<(), Failure>;

impl Walk {
    /// Leaves null where Go would hold nothing, and the zero of the type where it cannot.
    fn value(&mut self, value: &mut Value, kind: &Type, at: &Path) -> Walked {
        match kind {
            Type::Named(named) => self.named(value, kind, &named.kind, at),
            Type::Pointer(_) if value.is_null() => Ok(()),
            Type::Pointer(inner) => self.value(value, inner, at),
            Type::Struct(id) => self.structure(value, *id, kind, at),
            Type::Slice(items) => self.slice(value, items, kind, at),
            Type::Map(entries) => self.map(value, &entries.1, kind, at),
            Type::Own(own) => self.own(value, *own, at),
            scalar => {
                self.scalar(value, scalar, kind, at);
                Ok(())
            }
        }
    }

    /// The same as what was named, but for the name in messages.
    fn named(&mut self, value: &mut Value, name: &Type, kind: &Type, at: &Path) -> Walked {
        match kind {
            Type::Slice(items) => self.slice(value, items, name, at),
            Type::Map(entries) => self.map(value, &entries.1, name, at),
            scalar => {
                self.scalar(value, scalar, name, at);
                Ok(())
            }
        }
    }

    fn structure(&mut self, value: &mut Value, id: StructId, kind: &Type, at: &Path) -> Walked {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        let structure = structs().get(id);
        match value {
            Value::Object(fields) => self.fields(fields, structure, at),
            other => {
                self.mismatch(other, kind, at);
                Ok(())
            }
        }
    }

    fn fields(&mut self, fields: &mut Map<String, Value>, structure: &'static Struct, at: &Path) -> Walked {
        let mut walked = Ok(());
        fields.retain(|name, value| {
            if walked.is_err() {
                return true;
            }
            let Some(field) = structure.field(name) else {
                self.unknown_field(name, at);
                return false;
            };
            walked = self.value(value, &field.kind, &Path::Field { parent: at, structure, field });
            !is_omitted(field, value)
        });
        walked?;
        let missing = structure.fields.iter().filter(|field| field.is_always_there());
        for field in missing {
            if !fields.contains_key(field.name) {
                let mut zero = Value::Null;
                self.value(&mut zero, &field.kind, &Path::Field { parent: at, structure, field })?;
                fields.insert(field.name.to_owned(), zero);
            }
        }
        Ok(())
    }

    /// An empty list and none are the same once they were stored.
    fn slice(&mut self, value: &mut Value, items: &Type, kind: &Type, at: &Path) -> Walked {
        match value {
            Value::Null => Ok(()),
            Value::Array(list) if list.is_empty() => {
                *value = Value::Null;
                Ok(())
            }
            Value::Array(list) => list
                .iter_mut()
                .enumerate()
                .try_for_each(|(index, item)| self.value(item, items, &Path::Index(at, index))),
            other => {
                self.mismatch(other, kind, at);
                Ok(())
            }
        }
    }

    fn map(&mut self, value: &mut Value, values: &Type, kind: &Type, at: &Path) -> Walked {
        match value {
            Value::Null => Ok(()),
            Value::Object(entries) if entries.is_empty() => {
                *value = Value::Null;
                Ok(())
            }
            Value::Object(entries) => entries.iter_mut().try_for_each(|(key, value)| {
                self.value(value, values, &Path::Key(at, key))?;
                // Bytes that are not there come back from the store as none.
                if value.is_null() && matches!(values, Type::Bytes) {
                    *value = "".into();
                }
                Ok(())
            }),
            other => {
                self.mismatch(other, kind, at);
                Ok(())
            }
        }
    }

    fn own(&mut self, value: &mut Value, own: Own, at: &Path) -> Walked {
        match own {
            Own::Raw(_) => Ok(()),
            Own::Quantity => scalar::quantity(value),
            Own::IntOrString => scalar::int_or_string(value, at),
            Own::Time => scalar::time(value, time::Precision::Seconds, at),
            Own::MicroTime => scalar::time(value, time::Precision::Micros, at),
            Own::SchemaOrArray | Own::SchemaOrBool | Own::SchemaOrStrings => self.schema(value, own, at),
        }
    }

    /// A JSON schema, or what may stand in its place.
    fn schema(&mut self, value: &mut Value, own: Own, at: &Path) -> Walked {
        let schema = Type::Struct(structs().schema());
        let was_silent = std::mem::replace(&mut self.is_silent, true);
        let walked = match (&*value, own) {
            (Value::Object(_), _) => self.value(value, &schema, at),
            (Value::Bool(_), Own::SchemaOrBool) => Ok(()),
            (_, Own::SchemaOrBool) => Err(Failure::new("boolean or JSON schema expected".into())),
            (Value::Array(_), Own::SchemaOrArray) => self.slice(value, &schema, &schema, at),
            (Value::Array(_), Own::SchemaOrStrings) => self.slice(value, &Type::String, &schema, at),
            // Go passes over what it does not expect here.
            _ => {
                *value = Value::Null;
                Ok(())
            }
        };
        self.is_silent = was_silent;
        walked
    }

    fn unknown_field(&mut self, name: &str, at: &Path) {
        if !self.is_silent && !self.unknown.is_full() {
            self.unknown.add(at.to(name));
        }
    }

    fn mismatch(&mut self, value: &Value, kind: &Type, at: &Path) {
        self.fail(|| at.mismatch(kind_of(value), kind));
    }
}

fn is_omitted(field: &Field, value: &Value) -> bool {
    if field.omit == Omit::Never {
        return false;
    }
    match field.kind.plain() {
        Type::Struct(_) | Type::Own(_) => field.omit == Omit::Zero && value.is_null(),
        Type::Pointer(_) | Type::Slice(_) | Type::Map(_) | Type::Named(_) => value.is_null(),
        Type::Bool => value == &Value::Bool(false),
        Type::Int(_) | Type::Float => value.as_f64() == Some(0.0),
        Type::String | Type::Bytes => value.is_null() || value.as_str() == Some(""),
    }
}
