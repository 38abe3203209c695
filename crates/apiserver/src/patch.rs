//! JSON patch, merge patch and strategic merge patch, as functions from object and patch to object.
//!
//! Patches come as decoded JSON: what the bytes of a request said twice, and whether the patched object is a valid one,
//! is for others to judge.

mod json;
mod merge;
mod printed;
mod strategic;

use serde_json::Value;

use crate::go;
use crate::status::Status;

pub use json::{json, unknown_fields};
pub use merge::merge;
pub use printed::Printed;
pub use strategic::strategic;

/// The kinds of patch, which differ in how a body that is no such patch is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Json,
    Merge,
    Strategic,
}

/// The refusal of a body that could not be read as a patch, such as one that is not JSON.
pub fn undecodable(form: Form, cause: &str) -> Status {
    match form {
        Form::Json | Form::Merge => Status::bad_request(format!("error decoding patch: {cause}")),
        Form::Strategic => Status::bad_request(cause),
    }
}

/// The refusal of a value that is not what the Go type of the real server takes.
fn mismatch(form: Form, value: &Value, target: &str) -> Status {
    undecodable(form, &format!("json: cannot unmarshal {} into Go {target}", go::kind_of(value)))
}

/// Kubernetes does not say which operation or directive failed.
fn rejected() -> Status {
    let message = "the server rejected our request due to an error in our request";
    Status { details: Some(Box::default()), ..Status::new(422, "Invalid", message) }
}

#[cfg(test)]
mod tests;
