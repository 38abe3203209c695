//! Server-side apply: who owns which fields of an object, and what becomes of them when somebody writes. Every write goes
//! through [`update`] or [`apply`], which bring `metadata.managedFields` up to date. Pure: decoding, defaulting,
//! validating and storing are done by others, before and after.

mod application;
mod check;
mod comparison;
mod conflict;
mod element;
mod embedded;
mod encoding;
mod field_set;
mod last_applied;
mod ledger;
mod managed;
mod merge;
mod name;
mod naming;
mod owned;
mod presence;
mod pruning;
mod reset;
mod text;
mod typing;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use self::application::Application;
use self::ledger::Write;
use self::managed::{Managed, entries, is_reset, set_entries, without_entries};
use crate::identity::group_version;
use crate::object::time;
use crate::schema::Schema;
use crate::status::Status;

pub use self::element::{Element, Unreadable};
pub use self::embedded::with_metadata;
pub use self::encoding::Malformed;
pub use self::field_set::{FieldSet, Path};
pub use self::managed::{Manager, Operation};
pub use self::name::manager_name;
pub(crate) use self::name::{LONGEST_MANAGER, is_printable};
pub use self::reset::{reset_by_built_in, reset_by_custom_resource};

/// What is known about the kind of an object that is written.
pub struct Context<'a> {
    pub kind: &'a str,
    /// The versions in which the kind is served, by `apiVersion`. Fields owned in any other version are forgotten.
    pub versions: &'a BTreeMap<String, Version>,
    /// The object in another of the versions.
    pub convert: &'a dyn Fn(&Value, &str) -> Option<Value>,
    pub origin: Origin,
    pub now: Timestamp,
}

/// One version of a kind, as an endpoint serves it.
#[derive(Clone, Debug)]
pub struct Version {
    /// With the metadata that every object has: see [`with_metadata`].
    pub schema: Arc<Schema>,
    /// See [`reset_by_custom_resource`] and [`reset_by_built_in`].
    pub reset: FieldSet,
}

/// Who defined a kind. Objects of Kubernetes' own kinds always have their structures, however empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    BuiltIn,
    Custom,
}

/// A write that is not an apply, in the version of the manager: the new object with its `managedFields`. An object that
/// cannot be taken apart has none, and neither has one whose managers were forgotten at its wish.
pub fn update(live: Option<&Value>, new: Value, writer: &Manager, context: &Context<'_>) -> Value {
    let mut managed = known(live, &new, writer);
    let mut new = without_entries(new);
    if managed.owners.is_empty() && live.is_some() {
        return new;
    }
    let old = live.cloned().map_or_else(|| context.empty(writer), without_entries);
    let write = Write { context, version: &writer.api_version, old: &old, new: &new };
    let recorded = write.record(&mut managed, writer);
    set_entries(&mut new, recorded.ok().and_then(|()| managed.encode()));
    new
}

/// What a write starts from: what the client says who owns what, or else what was known. Subresources do not let clients
/// say, and what makes no sense is not listened to.
fn known(live: Option<&Value>, new: &Value, writer: &Manager) -> Managed {
    let stored = || Managed::decode(live.and_then(entries)).unwrap_or_default();
    if !writer.subresource.is_empty() {
        return stored();
    }
    if is_reset(entries(new)) {
        return Managed::default();
    }
    match Managed::decode(entries(new)) {
        Ok(managed) if !managed.owners.is_empty() => managed,
        _ => stored(),
    }
}

/// An apply, in the version of the manager: the object with what the configuration asks for, without what the manager
/// asked for before and nobody else owns, and with its `managedFields`. An object that is not there yet is created.
pub fn apply(
    live: Option<&Value>,
    config: &Value,
    writer: &Manager,
    force: bool,
    context: &Context<'_>,
) -> Result<Value, Status> {
    let managed = Managed::decode(live.and_then(entries))
        .map_err(|invalid| failure(format!("failed to decode managed fields: {invalid}")))?;
    let live = live.cloned().map_or_else(|| context.empty(writer), without_entries);
    let application = Application { context, writer, live: &live, config };
    let (mut applied, managed) = application.run(managed, force)?;
    last_applied::refresh(&mut applied, config, writer);
    set_entries(&mut applied, managed.encode());
    Ok(applied)
}

/// Whether a write changes nothing but the times at which managers wrote. It need not be stored then.
pub fn same_but_for_times(old: &Value, new: &Value) -> bool {
    let timeless = |object: &Value| {
        let mut managed = entries(object).cloned().unwrap_or_default();
        for entry in managed.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            entry.remove("time");
        }
        managed
    };
    same_fields(old, new, "metadata", |old, new| same_fields(old, new, "managedFields", |_, _| true))
        && timeless(old) == timeless(new)
}

/// Whether objects are the same, where one field of theirs is compared in a way of its own. Copies nothing.
fn same_fields(old: &Value, new: &Value, special: &str, is_same: impl Fn(&Value, &Value) -> bool) -> bool {
    let (Some(before), Some(after)) = (old.as_object(), new.as_object()) else { return old == new };
    let count = |fields: &Map<String, Value>| fields.keys().filter(|name| *name != special).count();
    let is_kept = |(name, value): (&String, &Value)| name == special || after.get(name) == Some(value);
    count(before) == count(after) && before.iter().all(is_kept) && is_same(&old[special], &new[special])
}

impl Context<'_> {
    /// The object of which nothing was said yet.
    fn empty(&self, writer: &Manager) -> Value {
        json!({"apiVersion": writer.api_version, "kind": self.kind})
    }

    fn time(&self) -> String {
        time(self.now)
    }
}

/// An error that Kubernetes gives no reason for.
fn failure(message: String) -> Status {
    Status::new(500, "", message)
}

/// `apps/v1, Kind=Deployment`
fn kind_of(object: &Value) -> String {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = group_version(text("apiVersion"));
    format!("{group}/{version}, Kind={}", text("kind"))
}

/// `default/web; apps/v1, Kind=Deployment`
fn address(object: &Value) -> String {
    let metadata = object.get("metadata").unwrap_or(&Value::Null);
    let text = |name: &str| metadata.get(name).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}; {}", text("namespace"), text("name"), kind_of(object))
}

#[cfg(test)]
mod tests;
