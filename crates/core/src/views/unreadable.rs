//! An object that is there but cannot be understood. It fails alone, with the reason in its status.

use asb_types::conditions::{READY, sandbox_ready};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Value, json};

use super::BadField;
use crate::conditions::{self, Verdict};
use crate::object::Metadata;
use crate::write::{Kind, Write};

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{problem}")]
pub struct Unreadable {
    pub metadata: Box<Metadata>,
    pub problem: BadField,
    /// What its status says.
    conditions: Vec<Condition>,
}

impl Unreadable {
    pub(super) fn new(metadata: Metadata, object: &Value, problem: BadField) -> Self {
        let conditions = &object["status"]["conditions"];
        Self {
            metadata: Box::new(metadata),
            problem,
            conditions: serde_json::from_value(conditions.clone()).unwrap_or_default(),
        }
    }

    /// The status write that tells users, unless it was told or nobody is left to read it. What else the status says
    /// stays: it was true when the object could be read, and nothing was done since.
    pub fn status(&self, kind: Kind, now: Timestamp) -> Option<Write> {
        let (metadata, mut list) = (&self.metadata, self.conditions.clone());
        let verdict = Verdict::new(false, sandbox_ready::INVALID_CONFIGURATION, self.to_string());
        conditions::set(&mut list, READY, verdict, metadata.generation, now);
        let is_due = list != self.conditions && !metadata.is_deleting();
        is_due.then(|| Write::patch_status(kind, metadata, json!({"status": {"conditions": list}})))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::{ClaimView, read};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn claim(status: &Value) -> Unreadable {
        let object = json!({
            "metadata": {"name": "c", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 3},
            "spec": {"lifecycle": {"ttlSecondsAfterFinished": 5_000_000_000_u64}},
            "status": status,
        });
        read::<ClaimView>(&object).unwrap().unwrap_err()
    }

    #[test]
    fn an_object_that_cannot_be_read_says_why_beside_what_it_said_before() {
        let finished = json!({"type": "Finished", "status": "True", "reason": "PodFailed", "message": "",
            "lastTransitionTime": "2030-01-01T00:00:00Z"});
        let Some(Write::Patch { body, .. }) =
            claim(&json!({"conditions": [finished]})).status(Kind::SandboxClaim, NOW)
        else {
            panic!("it was not told yet")
        };
        insta::assert_json_snapshot!(body);
    }

    #[test]
    fn it_says_so_once() {
        let Some(Write::Patch { body, .. }) = claim(&json!({})).status(Kind::SandboxClaim, NOW) else {
            panic!("it was not told yet")
        };
        let later = NOW + jiff::SignedDuration::from_hours(1);
        assert_eq!(claim(&body["status"]).status(Kind::SandboxClaim, later), None);
    }
}
