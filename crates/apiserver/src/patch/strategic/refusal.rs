//! Why a strategic merge patch does not apply, in the words of Kubernetes, down to how its language prints values.

use serde_json::Value;

use super::super::{Printed, rejected};
use super::{Fields, directive};
use crate::field::Quoted;
use crate::go;
use crate::status::Status;

#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("invalid patch format of primitive list")]
    PrimitiveListFormat,
    #[error("invalid patch format of retainKeys")]
    RetainKeysFormat,
    #[error("invalid patch format of setElementOrder list")]
    ElementOrderFormat,
    #[error("lists of lists are not supported")]
    ListOfLists,
    #[error("unknown patch type: {0}")]
    UnknownDirective(String),
    #[error("merging lists cannot yet be specified in the patch")]
    MergeInList,
    #[error("map: {map} does not contain declared merge key: {key}")]
    NoMergeKey { map: String, key: String },
    #[error("cannot merge lists without merge key for struct")]
    NoDeclaredMergeKey,
    #[error("list element types are not identical: [{0} {1}]")]
    MixedElements(String, String),
    #[error("no elements in any of the given slices")]
    NoElements,
    #[error("expected a {expected}, but received a {received}")]
    WrongType { expected: &'static str, received: &'static str },
    #[error("value for key {0} is not a map")]
    NotAMap(usize),
    #[error("The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{order}\n")]
    ContradictsOrder { patch: String, order: String },
    #[error("merging an object in json but data type is not struct, instead is: map")]
    NotAStruct,
    #[error("expected slice or array type, but got: struct")]
    NotAList,
    #[error("unable to find api field in struct for the json field {}", Quoted(.0))]
    UnknownField(String),
}

impl Refusal {
    pub(super) fn unknown_directive(fields: &Fields) -> Self {
        let directive = fields.get(directive::PATCH).unwrap_or(&Value::Null);
        let map = Value::Object(fields.clone());
        Self::UnknownDirective(format!("{} in map: {}", as_text(directive), Printed(&map)))
    }

    pub(super) fn no_merge_key(fields: &Fields, key: &str) -> Self {
        let map = Value::Object(fields.clone());
        Self::NoMergeKey { map: Printed(&map).to_string(), key: key.to_owned() }
    }

    pub(super) fn not_a_map(received: &Value) -> Self {
        Self::WrongType { expected: "map[string]interface {}", received: go_type(received) }
    }

    pub(super) fn not_a_list(received: &Value) -> Self {
        Self::WrongType { expected: "[]interface {}", received: go_type(received) }
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::PrimitiveListFormat | Refusal::RetainKeysFormat | Refusal::ElementOrderFormat => {
                Status::bad_request(refusal.to_string())
            }
            Refusal::ListOfLists => rejected(),
            // The real server does not know what these are, and so blames itself.
            other => Status::new(500, "", other.to_string()),
        }
    }
}

fn go_type(value: &Value) -> &'static str {
    if value.is_null() { "%!s(<nil>)" } else { go::type_of(value) }
}

/// What `%s` makes of a value that should have been text.
fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "%!s(<nil>)".to_owned(),
        other => format!("%!s({}={})", go_type(other), Printed(other)),
    }
}
