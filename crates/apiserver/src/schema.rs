//! What an object of a kind may hold: one model for the kinds of Kubernetes itself and for those of definitions that
//! users apply. Validation, pruning, defaulting, strategic merge and server-side apply all walk this model.

mod compiled;
mod correlation;
mod defaulting;
mod embedded;
mod expression;
mod format;
mod lists;
mod metadata;
mod path;
mod pattern;
mod pruning;
mod published;
mod validation;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

pub use compiled::{Compiled, Verdict};
pub use defaulting::Overgrown;
pub(crate) use expression::{Output, Program as Expression, paths};
pub(crate) use format::is_known as is_known_format;
pub(crate) use pattern::compile as compile_pattern;
pub use published::{Published, from_open_api};

/// The schema of one value and, through its shape, of everything inside.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent keywords of a definition")]
pub struct Schema {
    pub shape: Shape,
    /// The shape tells where to look, but a value of another type is no error: `type` is not written.
    pub is_untyped: bool,
    pub nullable: bool,
    pub default: Option<Value>,
    /// Fields that the schema does not know are kept, not pruned.
    pub preserves_unknown_fields: bool,
    /// The value is a whole object, with apiVersion, kind and metadata of its own.
    pub is_embedded_resource: bool,
    pub list: ListType,
    /// An object or map that server-side apply treats as one value.
    pub is_atomic: bool,
    pub patch: PatchStrategy,
    /// What a valid value satisfies beyond its shape. Most schemas ask for nothing more.
    pub rules: Option<Box<Rules>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Shape {
    /// Anything goes.
    #[default]
    Any,
    Object(Fields),
    Array(Arc<Schema>),
    String,
    Integer,
    Number,
    Boolean,
    IntOrString,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    pub known: BTreeMap<String, Arc<Schema>>,
    /// The schema of values under keys that are not known: what makes an object a map.
    pub others: Option<Arc<Schema>>,
}

/// What a list is to server-side apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    #[default]
    Atomic,
    Set,
    /// A map in disguise: these fields of an item are its key.
    Map(Vec<String>),
}

/// What a list or object is to a strategic merge patch. Only the kinds of Kubernetes itself have any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchStrategy {
    pub merges: bool,
    /// The field by which items of a merged list are told apart; a list of plain values has none.
    pub merge_key: Option<String>,
    pub retains_keys: bool,
}

/// Keywords that restrict a value, as they are written in a definition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    pub required: Vec<String>,
    pub enumeration: Option<Vec<Value>>,
    pub format: Option<String>,
    pub pattern: Option<String>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    pub minimum: Option<f64>,
    pub exclusive_minimum: bool,
    pub maximum: Option<f64>,
    pub exclusive_maximum: bool,
    pub multiple_of: Option<f64>,
    pub min_items: Option<u64>,
    pub max_items: Option<u64>,
    pub unique_items: bool,
    pub min_properties: Option<u64>,
    pub max_properties: Option<u64>,
    pub all_of: Vec<Arc<Schema>>,
    pub any_of: Vec<Arc<Schema>>,
    pub one_of: Vec<Arc<Schema>>,
    pub not: Option<Arc<Schema>>,
    /// Rules in CEL, as they stand under `x-kubernetes-validations`.
    pub expressions: Vec<Value>,
}

impl Schema {
    /// The schema of a field of an object, or of a value of a map.
    pub fn field(&self, name: &str) -> Option<&Arc<Schema>> {
        match &self.shape {
            Shape::Object(fields) => fields.known.get(name).or(fields.others.as_ref()),
            _ => None,
        }
    }

    /// The schema of the items of a list.
    pub fn items(&self) -> Option<&Arc<Schema>> {
        match &self.shape {
            Shape::Array(items) => Some(items),
            _ => None,
        }
    }
}

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;
