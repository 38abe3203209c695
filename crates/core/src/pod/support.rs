//! Which fields of a Pod's spec this node honours, which it refuses and why: a table that covers the whole schema, and the
//! check of a Pod against it. A field is never ignored.

mod allowance;
mod kind;
mod proofs;
mod rows;
mod table;

use std::fmt;

use serde_json::{Map, Value};

pub use allowance::{Allowance, Allowances};
pub use kind::{Field, Kind, Verdict};
pub use proofs::tests as proofs;
pub use rows::{Row, markdown, rows};
pub use table::{KINDS, kind};

/// The kind at which every check begins.
pub const ROOT: &str = "PodSpec";

/// A field that keeps a Pod from running here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Where it stands, from the root of the Pod: `spec.volumes[0].nfs`.
    pub path: String,
    /// Why it is refused, as a person wants to read it.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.reason)
    }
}

/// Whether this node runs a Pod of this spec. All objections at once, so that nobody mends them one by one.
pub fn check(spec: &Value, allowances: &Allowances) -> Result<(), Vec<Refusal>> {
    let root = kind(ROOT).expect("the table has its root");
    let mut judge = Judge { allowances: allowances.within(spec), refusals: Vec::new() };
    judge.value("spec", root, spec);
    if judge.refusals.is_empty() { Ok(()) } else { Err(judge.refusals) }
}

/// What is wrong with a Pod, in one line.
pub fn summary(refusals: &[Refusal]) -> String {
    let lines: Vec<_> = refusals.iter().map(ToString::to_string).collect();
    lines.join("; ")
}

struct Judge {
    allowances: Allowances,
    refusals: Vec<Refusal>,
}

impl Judge {
    /// A value that holds one of a kind, or a list of them.
    fn value(&mut self, path: &str, kind: &Kind, value: &Value) {
        match value {
            Value::Array(items) => {
                for (number, item) in items.iter().enumerate() {
                    self.value(&format!("{path}[{number}]"), kind, item);
                }
            }
            Value::Object(fields) => self.object(path, kind, fields),
            _ => {}
        }
    }

    fn object(&mut self, path: &str, kind: &Kind, fields: &Map<String, Value>) {
        for (name, value) in fields.iter().filter(|(_, value)| asks(value)) {
            let path = format!("{path}.{name}");
            match kind.field(name) {
                Some(field) => self.field(&path, field, value),
                None => self.refuse(&path, "is not a field of Kubernetes 1.36"),
            }
        }
    }

    fn field(&mut self, path: &str, field: &Field, value: &Value) {
        let kept = self.refusals.len();
        self.verdict(path, field, value);
        let is_refused = self.refusals.len() > kept;
        if let (false, Some(kind)) = (is_refused, field.holds.and_then(kind)) {
            self.value(path, kind, value);
        }
    }

    fn verdict(&mut self, path: &str, field: &Field, value: &Value) {
        match field.verdict {
            Verdict::Honoured => {}
            Verdict::Refused => self.refuse(path, field.note),
            Verdict::Only(values) => {
                for (path, word) in words(path, value).filter(|(_, word)| !values.contains(&word.as_str())) {
                    self.refuse(&path, &format!("{word:?} is refused: {}", field.note));
                }
            }
            Verdict::Allow { freely, allowance, refused } => {
                for (path, word) in words(path, value).filter(|(_, word)| !freely.contains(&word.as_str())) {
                    if refused.contains(&word.as_str()) {
                        self.refuse(&path, &format!("{word:?} is refused: {}", field.note));
                    } else if !self.allowances.has(allowance) {
                        let remedy = allowance.remedy();
                        self.refuse(&path, &format!("{word:?} is refused unless {remedy}: {}", field.note));
                    }
                }
            }
        }
    }

    fn refuse(&mut self, path: &str, reason: &str) {
        self.refusals.push(Refusal { path: path.to_owned(), reason: reason.to_owned() });
    }
}

/// Whether a value asks for anything. Clients write out what they leave unset in all these ways.
fn asks(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    }
}

/// The plain values of a field, one or a list, as they are written.
fn words(path: &str, value: &Value) -> impl Iterator<Item = (String, String)> {
    let items: Vec<_> = match value {
        Value::Array(items) => {
            let numbered = items.iter().enumerate();
            numbered.map(|(number, item)| (format!("{path}[{number}]"), word(item))).collect()
        }
        value => vec![(path.to_owned(), word(value))],
    };
    items.into_iter()
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(_) => "{…}".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
