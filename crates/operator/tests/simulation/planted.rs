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

    /// A node that nobody hears from is taken for one that is lost.
    pub(crate) const SILENCE_IS_DEATH: Self = Self { request: |_| {}, answer: bury };

    /// A leader takes its Lease for renewed when it has only looked at it.
    pub(crate) const UNRENEWED: Self = Self { request: glance, answer: |_, _| {} };

    /// What the operator has made it knows only once a watch has told it.
    pub(crate) const FORGOTTEN_ANSWERS: Self = Self { request: |_| {}, answer: forget };
}

fn unlock(call: &mut Call) {
    // Who leads is another matter.
    if call.resource == Resource::Leases {
        return;
    }
    if let Verb::Delete(how) = &mut call.verb {
        how.version = None;
    }
    if let Some(metadata) = call.body["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
}

fn glance(call: &mut Call) {
    if call.resource == Resource::Leases && matches!(call.verb, Verb::Replace) {
        call.verb = Verb::Get;
    }
}

fn bury(call: &Call, answer: &mut Value) {
    if call.resource == Resource::Nodes && !answer["spec"]["taints"][0].is_null() {
        answer["spec"]["taints"][0]["key"] = json!("node.kubernetes.io/out-of-service");
    }
}

fn forget(call: &Call, answer: &mut Value) {
    let is_made = matches!(call.verb, Verb::Create) && answer["kind"] == Kind::Sandbox.name();
    if is_made && call.resource == Resource::Kind(Kind::Sandbox) {
        answer["metadata"]["resourceVersion"] = json!("0");
    }
}
