//! The versions of a kind: in which one it is stored, and how it is shown in another.

use std::error::Error;

use asb_types::conversion::{self, ConversionError, Version};
use serde_json::Value;

use crate::object::Object;
use crate::resource::{Origin, Resource};
use crate::status::Status;
use crate::store::{Entry, Revision};
use crate::strategy;

/// Whether a version of the resource shows an object exactly as it is stored.
pub(crate) fn is_as_stored(resource: &Resource, entry: &Entry) -> bool {
    entry.text.is_in(&resource.api_version()) && is_of_edition(resource, entry.revision)
}

/// An object as a version of its resource shows it.
pub(crate) fn to_version(resource: &Resource, stored: Value) -> Result<Value, Status> {
    let wanted = resource.api_version();
    if stored["apiVersion"] != wanted.as_str() {
        return Ok(as_defined(resource, converted(resource, stored, &wanted)?));
    }
    let written = Revision(stored.resource_version().parse().unwrap_or_default());
    Ok(if is_of_edition(resource, written) { stored } else { as_defined(resource, stored) })
}

/// The same as conversion leaves it. What an object lacks there tells who gave it up, which a default would hide.
pub(crate) fn bare_version(resource: &Resource, stored: Value) -> Result<Value, Status> {
    let wanted = resource.api_version();
    if stored["apiVersion"] == wanted.as_str() { Ok(stored) } else { converted(resource, stored, &wanted) }
}

/// An object in the version that is stored. It came through its own version's schema, so that it can be converted.
pub(crate) fn to_storage(resource: &Resource, object: Value) -> Result<Value, Status> {
    match &resource.origin {
        Origin::BuiltIn(_) if resource.group == "events.k8s.io" => Ok(strategy::event_to_core(object)),
        Origin::BuiltIn(_) => Ok(object),
        Origin::Defined(defined) if defined.version().is_stored => Ok(object),
        Origin::Defined(defined) => {
            let wanted = crate::identity::api_version(&resource.group, defined.storage_version());
            converted(resource, object, &wanted)
        }
    }
}

fn converted(resource: &Resource, mut object: Value, wanted: &str) -> Result<Value, Status> {
    let Origin::Defined(defined) = &resource.origin else { return Ok(strategy::event_to_v1(object)) };
    let version = wanted.rsplit('/').next().unwrap_or_default();
    if is_ours(resource) {
        let version = if version == "v1alpha1" { Version::V1alpha1 } else { Version::V1beta1 };
        let from = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        return conversion::convert(object, version).map_err(|error| refused(&from, &resource.kind, &error));
    }
    if defined.converts_by_webhook() {
        let why = format!(
            "{} is stored in another version than {wanted}, and its definition converts by webhook, which this server \
             does not call",
            resource.group_resource()
        );
        return Err(Status::internal(&why));
    }
    object["apiVersion"] = wanted.into();
    Ok(object)
}

/// In the words of a server that asks a webhook, as clients of these kinds know them.
fn refused(from: &str, kind: &str, error: &ConversionError) -> Status {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    Status::unexplained(format!("conversion webhook for {from}, Kind={kind} failed: {error}{cause}"))
}

/// Kinds whose conversion is part of this program.
fn is_ours(resource: &Resource) -> bool {
    matches!(resource.group.as_str(), asb_types::GROUP | asb_types::EXTENSIONS_GROUP)
}

/// What a definition gained or lost after an object was written shows in the object all the same.
fn as_defined(resource: &Resource, mut object: Value) -> Value {
    if let Origin::Defined(defined) = &resource.origin {
        defined.version().schema.prune(&mut object);
        // An object that has outgrown its defaults is shown without some, since one that is not shown fails every list.
        let _ = defined.version().schema.default(&mut object);
    }
    object
}

/// Whether what was written then was written under the definition as it is now.
fn is_of_edition(resource: &Resource, written: Revision) -> bool {
    resource.defined().is_none_or(|defined| written.0 >= defined.edition.since)
}
