//! Turns the bytes of a request into an object, as strictly as the client asked for. JSON, YAML and protobuf all end as
//! the same JSON value. Objects of Kubernetes' own kinds come out as their Go structs would hold them; those of kinds that
//! definitions bring come out as they were sent, for their schemas to prune. Refusals are worded as Kubernetes words them.

mod identity;
mod json;
mod problem;
mod protobuf;
mod structs;
pub mod typed;
mod yaml;

use serde_json::{Number, Value};

use crate::status::Status;
use identity::{Identity, Unreadable, name};
pub use problem::Problem;

/// The form of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    Json,
    Yaml,
    Protobuf,
}

/// What to do about fields that an object should not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    Strict,
    #[default]
    Warn,
    Ignore,
}

/// How much a body may ask of the reader. How long it may be is for the transport to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many objects and lists may be inside one another. Whoever walks a value later walks as deep, and who manages
    /// its fields is written a few levels deeper.
    pub depth: usize,
    /// How many values there may be in all: each takes many times the memory of the bytes that can stand for it.
    pub values: usize,
}

/// The kind that the path of the request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected<'a> {
    pub api_version: &'a str,
    pub kind: &'a str,
}

/// A body as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    pub object: Value,
    /// What it says more than once.
    pub duplicates: Vec<Problem>,
}

/// An object that was read, and the fields that it should not have.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    pub object: Value,
    pub problems: Vec<Problem>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 100, values: 250_000 }
    }
}

impl FieldValidation {
    /// Reads the parameter of a request, where nothing means to warn. Nothing is returned for what it may not be.
    pub fn from_parameter(value: &str) -> Option<Self> {
        match value {
            "Strict" => Some(Self::Strict),
            "" | "Warn" => Some(Self::Warn),
            "Ignore" => Some(Self::Ignore),
            _ => None,
        }
    }
}

/// Reads the object of a request to create or replace one. Kinds of Kubernetes itself are checked to be the expected one
/// and brought to the form of their structs; of other kinds, only the metadata is.
pub fn decode(bytes: &[u8], media: Media, expected: Expected, limits: Limits) -> Result<Decoded, Status> {
    settle(parse(bytes, media, expected, limits)?, expected)
}

/// Reads an object that is not what was sent but what became of it, such as by a patch.
pub fn value(object: Value, expected: Expected) -> Result<Decoded, Status> {
    settle(Parsed { object, duplicates: vec![] }, expected)
}

fn settle(parsed: Parsed, expected: Expected) -> Result<Decoded, Status> {
    let Parsed { mut object, duplicates } = parsed;
    let identity = Identity::of(&object);
    let refused = |failure: typed::Failure| identity.refused(expected, &failure.to_string());
    let unknown = if expected.is_typed() {
        identity.check_kind(expected)?;
        typed::normalise(&mut object, &identity.api_version, &identity.kind).map_err(refused)?
    } else {
        whole_numbers(&mut object);
        typed::normalise_metadata(&mut object).map_err(refused)?
    };
    identity.check_version(expected)?;
    Ok(Decoded { object, problems: problem::together(duplicates, unknown) })
}

impl Decoded {
    /// The object and the warnings to answer with, unless the client wants no problems at all. For kinds that definitions
    /// bring, the fields that pruning found are added to the problems before this.
    pub fn judged(
        self,
        validation: FieldValidation,
        expected: Expected,
    ) -> Result<(Value, Vec<String>), Status> {
        match validation {
            FieldValidation::Ignore => Ok((self.object, vec![])),
            FieldValidation::Strict if !self.problems.is_empty() => {
                let texts: Vec<String> = self.problems.iter().map(Problem::to_string).collect();
                let why = format!("strict decoding error: {}", texts.join(", "));
                Err(Identity::of(&self.object).refused(expected, &why))
            }
            _ => Ok((self.object, self.problems.iter().flat_map(Problem::warnings).collect())),
        }
    }
}

impl Expected<'_> {
    fn is_typed(&self) -> bool {
        typed::known(self.api_version, self.kind)
    }
}

/// Reads the options in the body of a delete. Fields that they should not have are passed over, and refusals say no more
/// than what is wrong.
pub fn delete_options(bytes: &[u8], media: Media, limits: Limits) -> Result<Value, Status> {
    let expected = Expected { api_version: "v1", kind: "DeleteOptions" };
    let Parsed { mut object, .. } =
        read(bytes, media, expected, limits).map_err(|unreadable| Status::bad_request(unreadable.why))?;
    let identity = Identity::of(&object);
    if identity.kind != expected.kind {
        return Err(Status::bad_request(identity.unregistered()));
    }
    typed::normalise(&mut object, &identity.api_version, &identity.kind)
        .map_err(|failure| Status::bad_request(failure.to_string()))?;
    Ok(object)
}

/// Reads a body without looking further than its version and kind, which it gets where it names none.
pub fn parse(bytes: &[u8], media: Media, expected: Expected, limits: Limits) -> Result<Parsed, Status> {
    read(bytes, media, expected, limits).map_err(|unreadable| unreadable.refused(expected, bytes))
}

/// Reads JSON of any shape, such as a patch. What is malformed is told in the words of Go's reader.
pub fn json(bytes: &[u8], limits: Limits) -> Result<Parsed, String> {
    json::parse(bytes, limits).map_err(|error| error.to_string())
}

/// The same for YAML.
pub fn yaml(bytes: &[u8], limits: Limits) -> Result<Parsed, String> {
    yaml::parse(bytes, limits)
}

fn read(bytes: &[u8], media: Media, expected: Expected, limits: Limits) -> Result<Parsed, Unreadable> {
    let mut parsed = match media {
        Media::Json => json(bytes, limits)
            .map_err(|error| format!("couldn't get version/kind; json parse error: {error}"))?,
        Media::Yaml => yaml(bytes, limits)?,
        Media::Protobuf => return from_protobuf(bytes, expected, limits),
    };
    name(&mut parsed.object, expected, bytes)?;
    Ok(parsed)
}

fn from_protobuf(bytes: &[u8], expected: Expected, limits: Limits) -> Result<Parsed, Unreadable> {
    let envelope = protobuf::envelope(bytes).map_err(|error| error.to_string())?;
    let or = |own: &str, other: &str| if own.is_empty() { other.to_owned() } else { own.to_owned() };
    let identity = Identity {
        api_version: or(&envelope.api_version, expected.api_version),
        kind: or(&envelope.kind, expected.kind),
    };
    match protobuf::object(&envelope, &identity.api_version, &identity.kind, limits) {
        Ok(object) => Ok(Parsed { object, duplicates: vec![] }),
        Err(error) => Err(Unreadable { why: error.to_string(), identity: Some(identity) }),
    }
}

/// Floats that Go writes without a point come back from the store as whole numbers.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(whole) = number.as_f64().and_then(whole) {
                *number = whole;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

/// A float without a fraction, as the whole number that it is, if 64 bits can hold it.
fn whole(float: f64) -> Option<Number> {
    let text = (float.fract() == 0.0 && float.abs() < 1e21).then(|| format!("{float:.0}"))?;
    text.parse::<i64>().ok().map(Number::from)
}

#[cfg(test)]
mod tests;
