//! Mistakes that the simulation must find. They are planted between the operator and the cluster, so that what is shipped
//! knows nothing of them.

use asb_core::write::Kind;
use serde_json::{Value, json};

use crate::call::{Call, Resource, Verb};

#[derive(Clone, Copy)]
pub(crate) struct Planted {
    pub(crate) request: fn(&mut Call),
    pub(crate) answer: fn(&Call, &mut Value),
}

impl Planted {
    pub(crate) const NOTHING: Self = Self { request: |_| {}, answer: |_, _| {} };

    /// Sandboxes are handed to claims, and deleted, whoever has touched them since they were looked at.
    pub(crate) const NO_VERSION_LOCK: Self = Self { request: unlock, answer: |_, _| {} };

    /// What the operator has made it knows only once a watch has told it.
    pub(crate) const FORGOTTEN_ANSWERS: Self = Self { request: |_| {}, answer: forget };
}

fn unlock(call: &mut Call) {
    if let Verb::Delete(how) = &mut call.verb {
        how.version = None;
    }
    if let Some(metadata) = call.body["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
}

fn forget(call: &Call, answer: &mut Value) {
    let is_made = matches!(call.verb, Verb::Create) && answer["kind"] == Kind::Sandbox.name();
    if is_made && call.resource == Resource::Kind(Kind::Sandbox) {
        answer["metadata"]["resourceVersion"] = json!("0");
    }
}
