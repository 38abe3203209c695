//! Refusals of bodies, in the words and the form of FastAPI, which is what clients of upstream's runtime get to see.

use http::StatusCode;
use serde_json::{Value, json};

use crate::http::answer;
use crate::http::payload::Reply;

/// What a body was found to lack.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Invalid(Value);

impl Invalid {
    pub(super) fn missing(field: &[&str], input: Value) -> Self {
        Self::new("missing", field, "Field required", input)
    }

    pub(super) fn new(kind: &str, field: &[&str], message: &str, input: Value) -> Self {
        Self(json!({"type": kind, "loc": field, "msg": message, "input": input}))
    }

    pub(super) fn no_json(position: usize) -> Self {
        Self(json!({
            "type": "json_invalid",
            "loc": ["body", position],
            "msg": "JSON decode error",
            "input": {},
            "ctx": {"error": "Expecting value"},
        }))
    }

    pub(super) fn no_object(input: Value) -> Self {
        let message = "Input should be a valid dictionary or object to extract fields from";
        Self::new("model_attributes_type", &["body"], message, input)
    }

    pub(super) fn reply(self) -> Reply {
        answer::json(StatusCode::UNPROCESSABLE_ENTITY, &json!({"detail": [self.0]}))
    }

    #[cfg(test)]
    pub(super) fn shown(&self) -> &Value {
        &self.0
    }
}
