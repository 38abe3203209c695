//! The shape of the table: kinds of Kubernetes' schema, their fields, and a verdict on each. The functions are for writing
//! the table down.

use super::Allowance;

/// An object of the schema below a Pod's spec.
#[derive(Debug)]
pub struct Kind {
    /// The last part of its name in the schema.
    pub name: &'static str,
    pub fields: &'static [Field],
}

impl Kind {
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub verdict: Verdict,
    /// The kind that it holds one or many of, where that is looked into.
    pub holds: Option<&'static str>,
    /// How it is honoured, or why it is refused.
    pub note: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It works as Kubernetes documents it, whatever it says.
    Honoured,
    /// It works with these values, and others are refused.
    Only(&'static [&'static str]),
    /// It works with some values, is refused with some, and others need an allowance.
    Allow { freely: &'static [&'static str], allowance: Allowance, refused: &'static [&'static str] },
    /// It is refused, whatever it says.
    Refused,
}

pub(super) const fn kind(name: &'static str, fields: &'static [Field]) -> Kind {
    Kind { name, fields }
}

pub(super) const fn honoured(name: &'static str, note: &'static str) -> Field {
    Field { name, verdict: Verdict::Honoured, holds: None, note }
}

pub(super) const fn holding(name: &'static str, kind: &'static str, note: &'static str) -> Field {
    Field { name, verdict: Verdict::Honoured, holds: Some(kind), note }
}

pub(super) const fn only(name: &'static str, values: &'static [&'static str], note: &'static str) -> Field {
    Field { name, verdict: Verdict::Only(values), holds: None, note }
}

pub(super) const fn refused(name: &'static str, note: &'static str) -> Field {
    Field { name, verdict: Verdict::Refused, holds: None, note }
}

pub(super) const fn allowed(
    name: &'static str,
    freely: &'static [&'static str],
    allowance: Allowance,
    note: &'static str,
) -> Field {
    Field { name, verdict: Verdict::Allow { freely, allowance, refused: &[] }, holds: None, note }
}
