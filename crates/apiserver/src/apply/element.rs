//! One step of a path into an object: a field, or an item of a list. How steps sort, how they are written in messages and
//! how they are spelled in `fieldsV1`.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

use super::text;
use super::values;

/// Where a path goes next.
#[derive(Clone, Debug)]
pub enum Element {
    /// A field of an object, or an entry of a map.
    Field(String),
    /// The item of a list whose fields have these values. Sorted by name.
    Key(Vec<(String, Value)>),
    /// The item of a set that has this value.
    Value(Value),
    /// The item at a position. The server writes none itself, but understands them.
    Index(i64),
}

/// A key of `fieldsV1` that cannot be a step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {0:?} as a step of a path")]
pub struct Unreadable(pub String);

impl Element {
    pub fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    /// `None` is a step of a kind that a later release may know: it is dropped without a complaint.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, Unreadable> {
        let unreadable = || Unreadable(text.to_owned());
        let bytes = text.as_bytes();
        if bytes.len() < 2 || bytes[1] != b':' {
            return Err(unreadable());
        }
        let Some(rest) = text.get(2..) else { return Err(unreadable()) };
        Ok(Some(match bytes[0] {
            b'f' => Self::field(rest),
            b'v' => Self::Value(serde_json::from_str(rest).map_err(|_| unreadable())?),
            b'k' => Self::Key(key(rest).ok_or_else(unreadable)?),
            b'i' => Self::Index(rest.parse().map_err(|_| unreadable())?),
            _ => return Ok(None),
        }))
    }

    /// The spelling in `fieldsV1`.
    pub(super) fn encoded(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), text::json(value)))
                    .collect();
                format!("k:{{{}}}", fields.join(","))
            }
            Self::Value(value) => format!("v:{}", text::json(value)),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

fn key(text: &str) -> Option<Vec<(String, Value)>> {
    match serde_json::from_str(text).ok()? {
        Value::Object(fields) => Some(fields.into_iter().collect()),
        _ => None,
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => compare_keys(a, b),
            (Self::Value(a), Self::Value(b)) => values::compare(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

fn compare_keys(a: &[(String, Value)], b: &[(String, Value)]) -> Ordering {
    let pairs = a.iter().zip(b);
    let differing = pairs
        .map(|((name, value), (other_name, other))| {
            name.cmp(other_name).then_with(|| values::compare(value, other))
        })
        .find(|order| order.is_ne());
    differing.unwrap_or_else(|| a.len().cmp(&b.len()))
}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Element {}

impl fmt::Display for Element {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(formatter, ".{name}"),
            Self::Key(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{name}={}", text::shown(value))).collect();
                write!(formatter, "[{}]", fields.join(","))
            }
            Self::Value(value) => write!(formatter, "[={}]", text::shown(value)),
            Self::Index(index) => write!(formatter, "[{index}]"),
        }
    }
}
