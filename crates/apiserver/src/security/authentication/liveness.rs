//! The objects that tokens are for and may be bound to: a token is good as long as they exist.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::security::json::text;

/// How far clocks may differ.
pub(super) const LEEWAY: SignedDuration = SignedDuration::from_mins(1);

/// The objects of a cluster, found by their resource (`serviceaccounts`, `pods`, `secrets`, `nodes`).
pub trait Objects {
    fn find(&self, resource: &str, namespace: &str, name: &str) -> Option<Object>;
}

/// What tokens have to do with an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    pub uid: String,
    pub deleted: Option<Timestamp>,
    /// Of a Pod, as which ServiceAccount it runs
    pub service_account: String,
    /// Of a Pod, the node that it is on
    pub node: String,
}

impl Object {
    /// Whether it was deleted, and longer ago than clocks differ, even though it is still there.
    pub(super) fn is_gone(&self, now: Timestamp) -> bool {
        self.deleted.is_some_and(|deleted| deleted.saturating_add(LEEWAY).is_ok_and(|end| end < now))
    }
}

impl From<&Value> for Object {
    fn from(object: &Value) -> Self {
        Self {
            uid: text(object, &["metadata", "uid"]).to_owned(),
            deleted: text(object, &["metadata", "deletionTimestamp"]).parse().ok(),
            service_account: text(object, &["spec", "serviceAccountName"]).to_owned(),
            node: text(object, &["spec", "nodeName"]).to_owned(),
        }
    }
}
