//! Whether a Sandbox may take over an object that nobody owns, and how it makes the object its own.

use asb_types::labels::{ADOPTABLE, ADOPTABLE_TRUE, SANDBOX_NAME_HASH};
use serde_json::Value;

use super::observed::Observed;
use crate::object::Metadata;
use crate::write::Kind;

/// Somebody has released the object for adoption, or it was made for this very Sandbox.
pub(super) fn is_allowed(observed: &Observed, object: &Metadata) -> bool {
    object.label(ADOPTABLE) == Some(ADOPTABLE_TRUE) || is_tracked(observed, object)
}

/// Whether the object bears the label by which everything of this Sandbox is found.
pub(super) fn is_tracked(observed: &Observed, object: &Metadata) -> bool {
    object.label(SANDBOX_NAME_HASH) == Some(&observed.name_hash())
}

/// The ownerReference of everything that a Sandbox owns.
pub(super) fn reference(observed: &Observed) -> Value {
    observed.sandbox.metadata.controller_reference(Kind::Sandbox)
}

/// The ownerReferences of an object once the Sandbox owns it.
pub(super) fn references(observed: &Observed, object: &Metadata) -> Value {
    object.references_under(Some(reference(observed)))
}
