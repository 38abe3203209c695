//! The Lease by which processes agree who is in charge, as the API server keeps it: changed only by whoever saw its last
//! version.

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::call::{Call, Verb};
use crate::processes::Lease;
use crate::store::Refusal;
use crate::world::World;

impl World {
    pub(crate) fn serve_lease(&mut self, call: &Call) -> Result<Value, Refusal> {
        let known = self.processes.lease.as_ref().map(|lease| &lease.object);
        match (&call.verb, known) {
            (Verb::Get, Some(lease)) => Ok(lease.clone()),
            (Verb::Create, None) => Ok(self.keep_lease(&call.body)),
            (Verb::Create, Some(_)) => Err(Refusal::EXISTS),
            (Verb::Replace, Some(lease)) if is_same_version(lease, &call.body) => {
                Ok(self.keep_lease(&call.body))
            }
            (Verb::Replace, Some(_)) => Err(Refusal::CONFLICT),
            _ => Err(Refusal::MISSING),
        }
    }

    fn keep_lease(&mut self, lease: &Value) -> Value {
        let before = self.processes.lease.take().map_or(json!(""), |lease| holder(&lease.object).clone());
        if before != *holder(lease) {
            self.transcript.note(format_args!("{} leads, and no longer {before}", holder(lease)));
        }
        let mut object = lease.clone();
        object["metadata"]["resourceVersion"] = json!(self.store.skip().to_string());
        self.processes.lease = Some(Lease { object: object.clone(), written: Instant::now() });
        object
    }
}

fn holder(lease: &Value) -> &Value {
    &lease["spec"]["holderIdentity"]
}

fn is_same_version(known: &Value, new: &Value) -> bool {
    known["metadata"]["resourceVersion"] == new["metadata"]["resourceVersion"]
}
