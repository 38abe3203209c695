//! Whether an object fits its schema well enough to be taken apart. Says no more than that: validation is elsewhere.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::element::Element;
use super::text;
use super::typing::{Atom, Fielded, List, Scalar, Type};

/// What does not fit, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    path: String,
    message: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Duplicates {
    /// Stored objects may hold what older rules let through.
    Tolerated,
    Refused,
}

/// What does not fit, in the words of Kubernetes.
pub(super) fn check(kind: Type<'_>, value: &Value, duplicates: Duplicates) -> Result<(), String> {
    let misfits = misfits(kind, value, duplicates);
    match misfits.as_slice() {
        [] => Ok(()),
        [only] => Err(only.shown()),
        several => {
            let lines: Vec<String> = several.iter().map(|misfit| format!("\n  {}", misfit.shown())).collect();
            Err(format!("errors:{}", lines.concat()))
        }
    }
}

impl Misfit {
    fn new(message: impl Into<String>) -> Self {
        Self { path: String::new(), message: message.into() }
    }

    fn under(mut self, element: &Element) -> Self {
        self.path.insert_str(0, &element.to_string());
        self
    }

    fn shown(&self) -> String {
        match self.path.as_str() {
            "" => self.message.clone(),
            path => format!("{path}: {}", self.message),
        }
    }
}

fn misfits(kind: Type<'_>, value: &Value, duplicates: Duplicates) -> Vec<Misfit> {
    match (kind.atom(Some(value)), value) {
        (_, Value::Null) => Vec::new(),
        (Atom::Scalar(scalar), value) => scalar_misfit(scalar, value).into_iter().map(Misfit::new).collect(),
        (Atom::List(list), Value::Array(items)) => list_misfits(list, items, duplicates),
        (Atom::List(_), other) => {
            vec![Misfit::new(format!("expected list, got &{{{}}}", text::plain(other)))]
        }
        (Atom::Map(map), Value::Object(fields)) => map_misfits(map, fields, duplicates),
        (Atom::Map(_), other) => vec![Misfit::new(format!("expected map, got &{{{}}}", text::plain(other)))],
    }
}

fn scalar_misfit(scalar: Scalar, value: &Value) -> Option<String> {
    let fits = match scalar {
        Scalar::Numeric => value.is_number(),
        Scalar::Text => value.is_string(),
        Scalar::Boolean => value.is_boolean(),
        Scalar::Untyped => !value.is_object() && !value.is_array(),
    };
    (!fits).then(|| match scalar {
        Scalar::Numeric => format!("expected numeric (int or float), got {}", text::type_name(value)),
        Scalar::Text => {
            format!("expected string, got &value.valueUnstructured{{Value:{}}}", text::syntax(value))
        }
        Scalar::Boolean => format!("expected boolean, got &{{{}}}", text::plain(value)),
        Scalar::Untyped => format!("expected any scalar, got &{{{}}}", text::plain(value)),
    })
}

/// An item without a name ends the list: nothing could be said about what is in it.
fn list_misfits(list: List<'_>, items: &[Value], duplicates: Duplicates) -> Vec<Misfit> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, item) in (0..).zip(items) {
        let element = match list.kind {
            None => Element::Index(index),
            Some(_) => match list.element(item) {
                Ok(element) => element,
                Err(reason) => {
                    found.push(Misfit::new(format!("element {index}: {reason}")));
                    return found;
                }
            },
        };
        found.extend(misfits(list.items, item, duplicates).into_iter().map(|misfit| misfit.under(&element)));
        let shown = element.to_string();
        if !seen.insert(element) && duplicates == Duplicates::Refused {
            found.push(Misfit::new(format!("duplicate entries for key {shown}")));
        }
    }
    found
}

/// A field without a schema ends the map, as it does in Kubernetes.
fn map_misfits(map: Fielded<'_>, fields: &Map<String, Value>, duplicates: Duplicates) -> Vec<Misfit> {
    let mut found = Vec::new();
    for (name, value) in fields {
        let element = Element::field(name);
        let Some(kind) = map.field(name) else {
            found.push(Misfit::new("field not declared in schema").under(&element));
            break;
        };
        found.extend(misfits(kind, value, duplicates).into_iter().map(|misfit| misfit.under(&element)));
    }
    found
}
