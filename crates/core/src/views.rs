//! What is kept of each kind of object: the parts that decisions are made on, parsed once, and no more. A cluster's worth
//! of them is in memory.

mod claim;
mod network_policy;
mod pod;
mod pool;
mod sandbox;
mod service;
mod shorthand;
mod template;
mod unreadable;
mod volume;

use asb_types::deadline::Deadline;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::document::Documents;
use crate::object::{Metadata, MissingMetadata};
use crate::write::Kind;

pub use claim::{ClaimView, Request};
pub use network_policy::NetworkPolicyView;
pub use pod::{PodView, Scheduled};
pub use pool::{Bound, PoolView};
pub use sandbox::{PodBlueprint, SandboxView};
pub use service::ServiceView;
pub use shorthand::{Canonical, ShortClaim, ShortPool, ShortTemplate, ShorthandView, Spelling};
pub use template::TemplateView;
pub use unreadable::Unreadable;
pub use volume::VolumeView;

/// What is kept of an object.
pub trait View: Sized {
    const KIND: Kind;

    /// Reads an object as an API server serves it.
    fn read(metadata: Metadata, object: &Value) -> Result<Self, BadField>;

    fn metadata(&self) -> &Metadata;

    /// Replaces the large parts by copies that others hold too.
    fn share(&mut self, _documents: &mut Documents) {}
}

/// A field of an object that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct BadField {
    pub field: &'static str,
    pub problem: String,
}

/// Reads a whole object, metadata and all.
pub fn read<V: View>(object: &Value) -> Result<Result<V, Unreadable>, MissingMetadata> {
    match V::read(Metadata::read(object)?, object) {
        Ok(view) => Ok(Ok(view)),
        Err(problem) => Ok(Err(Unreadable::new(Metadata::read(object)?, object, problem))),
    }
}

/// One field that may be absent.
fn optional<T: DeserializeOwned>(value: &Value, field: &'static str) -> Result<Option<T>, BadField> {
    serde_json::from_value(value.clone()).map_err(|error| BadField { field, problem: error.to_string() })
}

/// A point in time in the spec of an object.
fn deadline(value: &Value, field: &'static str) -> Result<Option<jiff::Timestamp>, BadField> {
    Ok(optional::<Deadline>(value, field)?.map(|deadline| deadline.at()))
}

/// A status, which is ours: one that cannot be read is as good as none, and is written anew.
fn status<T: DeserializeOwned + Default>(object: &Value) -> T {
    serde_json::from_value(object["status"].clone()).unwrap_or_default()
}
