//! Server-side apply: who owns which fields of an object, and what becomes of them when somebody writes. Every write goes
//! through [`update`] or [`apply`], which bring `metadata.managedFields` up to date. Pure: decoding, defaulting,
//! validating and storing are done by others, before and after.

mod check;
mod comparison;
mod conflict;
mod element;
mod encoding;
mod field_set;
mod last_applied;
mod ledger;
mod managed;
mod merge;
mod name;
mod owned;
mod presence;
mod pruning;
mod reset;
mod scale;
mod text;
mod typing;
mod validation;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use self::check::Duplicates;
use self::conflict::{Conflict, Refusal};
use self::ledger::Write;
use self::managed::{Identity, Managed, Owned, entries, is_reset, set_entries, without_entries};
use self::typing::Type;
use crate::identity::group_version;
use crate::schema::{Fields, Schema, Shape};
use crate::status::Status;

pub use self::element::{Element, Unreadable};
pub use self::encoding::Malformed;
pub use self::field_set::{FieldSet, Path};
pub use self::managed::{Manager, Operation};
pub use self::name::manager_name;
pub use self::reset::{reset_by_built_in, reset_by_custom_resource};
pub use self::scale::{ReplicaPaths, from_scale, to_scale};
pub use self::validation::{validate_entries, validate_manager, validate_patch_options};

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

/// Applies share an object with this manager when nobody had applied to it before.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// A write that is not an apply, in the version of the manager: the new object with its `managedFields`. An object that
/// cannot be taken apart has none, and neither has one whose managers were forgotten at its wish.
pub fn update(live: Option<&Value>, new: Value, writer: &Manager, context: &Context<'_>) -> Value {
    let mut managed = known(live, &new, writer);
    let mut new = without_entries(new);
    if managed.owners.is_empty() && live.is_some() {
        return new;
    }
    let old = live.cloned().map_or_else(|| context.empty(writer), without_entries);
    let recorded = context.record(&old, &new, &mut managed, writer);
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
    context.check_kind(config, writer)?;
    let managed = Managed::decode(live.and_then(entries))
        .map_err(|invalid| failure(format!("failed to decode managed fields: {invalid}")))?;
    let live = live.cloned().map_or_else(|| context.empty(writer), without_entries);
    let (mut applied, managed) = context.migrate(&live, config, managed, writer, force)?;
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
    timeless(old) == timeless(new) && without_entries(old.clone()) == without_entries(new.clone())
}

/// The schema of a custom resource with the metadata of any object, which its definition does not spell out: at the root
/// and wherever it embeds whole objects.
#[must_use]
pub fn with_metadata(schema: &Schema, metadata: &Arc<Schema>) -> Schema {
    let root = Schema { is_embedded_resource: true, ..schema.clone() };
    with_embedded_metadata(&root, metadata)
}

fn with_embedded_metadata(schema: &Schema, metadata: &Arc<Schema>) -> Schema {
    let within = |schema: &Arc<Schema>| Arc::new(with_embedded_metadata(schema, metadata));
    let shape = match &schema.shape {
        Shape::Array(items) => Shape::Array(within(items)),
        Shape::Object(fields) => Shape::Object(Fields {
            known: fields.known.iter().map(|(name, field)| (name.clone(), within(field))).collect(),
            others: fields.others.as_ref().map(within),
        }),
        Shape::Any if schema.is_embedded_resource => Shape::Object(Fields::default()),
        other => other.clone(),
    };
    let mut schema = Schema { shape, ..schema.clone() };
    if let (true, Shape::Object(fields)) = (schema.is_embedded_resource, &mut schema.shape) {
        let text = Arc::new(Schema { shape: Shape::String, ..Schema::default() });
        fields.known.insert("apiVersion".into(), Arc::clone(&text));
        fields.known.insert("kind".into(), text);
        fields.known.insert("metadata".into(), Arc::clone(metadata));
    }
    schema
}

impl Context<'_> {
    /// The object of which nothing was said yet.
    fn empty(&self, writer: &Manager) -> Value {
        json!({"apiVersion": writer.api_version, "kind": self.kind})
    }

    fn record(
        &self,
        old: &Value,
        new: &Value,
        managed: &mut Managed,
        writer: &Manager,
    ) -> Result<(), String> {
        let write = Write { context: self, version: &writer.api_version, old, new };
        write.record(managed, writer)
    }

    fn check_kind(&self, config: &Value, writer: &Manager) -> Result<(), Status> {
        if let Some(kind) = not_a_map(config) {
            let message =
                "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal";
            return Err(Status::bad_request(format!(
                "{message} {kind} into Go value of type map[string]interface {{}}"
            )));
        }
        let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
        if (text("apiVersion"), text("kind")) == (writer.api_version.as_str(), self.kind) {
            return Ok(());
        }
        Err(Status::bad_request(format!("invalid object type: {}", kind_of(config))))
    }

    /// kubectl may take what it applied from its own side before, as far as nobody changed it since.
    fn migrate(
        &self,
        live: &Value,
        config: &Value,
        managed: Managed,
        writer: &Manager,
        force: bool,
    ) -> Result<(Value, Managed), Status> {
        let refusal = match self.merge(live, config, managed.clone(), writer, force) {
            Ok(done) => return Ok(done),
            Err(refusal) => refusal,
        };
        let Refusal::Conflicts(conflicts) = refusal else { return Err(refusal.into()) };
        let Some(allowed) = last_applied::allowed(live, writer, self) else {
            return Err(Refusal::Conflicts(conflicts).into());
        };
        let remaining: Vec<Conflict> =
            conflicts.into_iter().filter(|conflict| !allowed.contains(&conflict.path)).collect();
        if remaining.is_empty() {
            return Ok(self.merge(live, config, managed, writer, true)?);
        }
        Err(Refusal::Conflicts(remaining).into())
    }

    fn merge(
        &self,
        live: &Value,
        config: &Value,
        mut managed: Managed,
        writer: &Manager,
        force: bool,
    ) -> Result<(Value, Managed), Refusal> {
        if managed.owners.is_empty() {
            let before =
                Manager { name: BEFORE_FIRST_APPLY.into(), operation: Operation::Update, ..writer.clone() };
            self.record(&self.empty(writer), live, &mut managed, &before)
                .map_err(|reason| format!("failed to create manager for existing fields: {reason}"))?;
        }
        let version = self.check_config(live, config, writer)?;
        let kind = Type::of(&version.schema);
        ledger::reconcile(&mut managed, self);
        let merged = merge::merge(kind, live, config);
        let identity = Identity::from(writer);
        let set = owned::fields(kind, config).without(&version.reset);
        let owned = Owned { set, api_version: writer.api_version.clone() };
        let last = managed.owners.insert(identity.clone(), owned);
        let pruned = pruning::prune(merged, &writer.api_version, &managed, last.as_ref(), self);
        let pruned = match self.origin {
            Origin::BuiltIn => presence::without_nulls(&version.schema, pruned),
            Origin::Custom => pruned,
        };
        let write = Write { context: self, version: &writer.api_version, old: live, new: &pruned };
        write.take(&mut managed, Some(&identity), force)?;
        ledger::strip(&mut managed, &identity);
        if !values::equal(live, &pruned) {
            managed.times.insert(identity, self.time());
        }
        Ok((pruned, managed))
    }

    fn check_config(&self, live: &Value, config: &Value, writer: &Manager) -> Result<&Version, Refusal> {
        if entries(config).is_some_and(Value::is_array) {
            return Err(Status::bad_request("metadata.managedFields must be nil").into());
        }
        let version = self.versions.get(&writer.api_version);
        let version = version.ok_or_else(|| format!("no corresponding type for {}", kind_of(config)))?;
        let kind = Type::of(&version.schema);
        check::check(kind, config, Duplicates::Refused).map_err(|misfit| {
            format!("failed to create typed patch object ({}): {misfit}", address(config))
        })?;
        check::check(kind, live, Duplicates::Tolerated)
            .map_err(|misfit| format!("failed to create typed live object ({}): {misfit}", address(live)))?;
        Ok(version)
    }

    fn time(&self) -> String {
        self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}

/// An error that Kubernetes gives no reason for.
fn failure(message: String) -> Status {
    Status::new(500, "", message)
}

fn not_a_map(config: &Value) -> Option<&'static str> {
    match config {
        Value::Object(_) | Value::Null => None,
        Value::Array(_) => Some("array"),
        Value::String(_) => Some("string"),
        Value::Number(_) => Some("number"),
        Value::Bool(_) => Some("bool"),
    }
}

/// `apps/v1, Kind=Deployment`
fn kind_of(object: &Value) -> String {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = group_version(text("apiVersion"));
    format!("{group}/{version}, Kind={}", text("kind"))
}

/// `default/web; apps/v1, Kind=Deployment`
fn address(object: &Value) -> String {
    let metadata = object.get("metadata").and_then(Value::as_object);
    let text = |name: &str| {
        let value = metadata.and_then(|metadata: &Map<String, Value>| metadata.get(name));
        value.and_then(Value::as_str).unwrap_or_default()
    };
    format!("{}/{}; {}", text("namespace"), text("name"), kind_of(object))
}

#[cfg(test)]
mod tests;
